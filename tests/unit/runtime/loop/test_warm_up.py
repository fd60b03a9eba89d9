"""Warm-up: which sources begin later, for how long, and what is done meanwhile."""

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from penstock.plan.operators import Filter, Gate, key
from penstock.runtime.loop import warm_up
from penstock.runtime.loop.warm_up import WarmUp
from penstock.runtime.work.live_unit import LiveUnit
from penstock.runtime.work.worker_pool import Finish
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, SyncPool, scan
from tests.unit.model.scripted import ScriptedSource

SECONDS = 3.0
FEW, MANY = "few", "many"


@dataclass
class PacedSource(ScriptedSource):
    """A script that is played by its own clock."""

    is_paced: bool = True


@dataclass
class SlowPool(SyncPool):
    """Finishes what it is given when it is told to."""

    waiting: dict[str, Callable[[], None]] = field(default_factory=dict)

    @property
    def free_slots(self) -> int:
        return 2 - len(self.waiting)

    def is_busy(self, name: str) -> bool:
        return name in self.waiting

    def submit(
        self, name: str, work: Callable[[], object], finish: Finish, along: Collection[str] = ()
    ) -> None:
        def done() -> None:
            future: Future[object] = Future()
            future.set_result(work())
            finish(future)

        self.waiting[name] = done

    def finish(self) -> None:
        waiting, self.waiting = self.waiting, {}
        for done in waiting.values():
            done()


@pytest.fixture
def rehearsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """Give what was rehearsed, and as how many rows."""
    found: list[tuple[str, str]] = []

    def note(processor: str, live: LiveUnit) -> None:
        found.append((live.unit.root.text(), processor))

    monkeypatch.setattr(warm_up, "_rehearse", note)
    with arrow_without_spark():
        yield found


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    hall = Hall(tmp_path / "home", ("s", "t"))
    hall.topology.source_readers[key(scan("s"))].interface = PacedSource([])
    return hall


def warming(hall: Hall, seconds: float = SECONDS) -> tuple[WarmUp, SlowPool]:
    pool = SlowPool()
    processors = (FEW, MANY)
    return WarmUp(hall.topology, pool, processors, seconds), pool  # type: ignore[arg-type]  # names


def is_held(hall: Hall, warm: WarmUp, stream: str = "s") -> bool:
    return warm.holds(hall.topology.source_readers[key(scan(stream))], hall.clock.now())


def test_a_source_begins_when_all_behind_it_was_rehearsed_few_rows_first(
    hall: Hall, rehearsed: list[tuple[str, str]]
) -> None:
    below = Filter(scan("s"), ("n > 1",))
    hall.add("a", below)
    hall.add("b", Filter(below, ("n > 2",)))
    warm, pool = warming(hall)
    for _ in range(2):
        warm.start(hall.clock.now())
        assert is_held(hall, warm)
        pool.finish()
    assert [how for _, how in rehearsed] == [FEW, FEW, MANY, MANY]
    assert len({what for what, _ in rehearsed}) == 2
    warm.start(hall.clock.now())
    assert not pool.waiting
    assert not is_held(hall, warm)


@pytest.mark.usefixtures("rehearsed")
def test_sources_begin_together(hall: Hall) -> None:
    hall.topology.source_readers[key(scan("t"))].interface = PacedSource([])
    hall.add("a", Filter(scan("s"), ("n > 1",)))
    hall.add("b", Gate(scan("t"), 0.5))
    warm, pool = warming(hall)
    for held in (True, True, False):
        warm.start(hall.clock.now())
        assert [is_held(hall, warm, stream) for stream in "st"] == [held, held]
        pool.finish()


def test_it_begins_after_some_seconds_in_any_case(
    hall: Hall, rehearsed: list[tuple[str, str]]
) -> None:
    hall.add("a", Filter(scan("s"), ("n > 1",)))
    warm, pool = warming(hall)
    warm.start(hall.clock.now())
    hall.clock.sleep(SECONDS)
    assert not is_held(hall, warm)
    pool.finish()
    warm.start(hall.clock.now())
    assert (len(rehearsed), pool.waiting) == (1, {})


@pytest.mark.usefixtures("rehearsed")
def test_others_begin_at_once(hall: Hall) -> None:
    hall.add("a", Filter(scan("t"), ("n > 1",)))
    warm, pool = warming(hall)
    warm.start(hall.clock.now())
    assert not pool.waiting
    assert not is_held(hall, warm, "t")


@pytest.mark.usefixtures("rehearsed")
def test_nobody_waits_where_it_is_turned_off_or_nothing_is_asked(hall: Hall) -> None:
    warm, pool = warming(hall)
    warm.start(hall.clock.now())
    assert not is_held(hall, warm)
    hall.add("a", Filter(scan("s"), ("n > 1",)))
    warm, pool = warming(hall, seconds=0.0)
    warm.start(hall.clock.now())
    assert not pool.waiting
    assert not is_held(hall, warm)


@pytest.mark.usefixtures("rehearsed")
def test_what_comes_to_a_source_that_has_begun_is_not_rehearsed(hall: Hall) -> None:
    hall.add("a", Filter(scan("s"), ("n > 1",)))
    reader = hall.topology.source_readers[key(scan("s"))]
    reader.number = 1
    warm, pool = warming(hall)
    warm.start(hall.clock.now())
    assert not pool.waiting
    assert not is_held(hall, warm)


@pytest.mark.usefixtures("rehearsed")
def test_gates_have_nothing_to_rehearse(hall: Hall) -> None:
    hall.add("a", Gate(scan("s"), 0.5))
    warm, pool = warming(hall)
    warm.start(hall.clock.now())
    assert not pool.waiting
    assert not is_held(hall, warm)
