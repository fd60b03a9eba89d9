import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.definitions import QueryState
from penstock.model.trains import END_OF_TIME
from penstock.plan.operators import Filter, Take, key
from penstock.runtime.loop.dispatch import dispatcher as turns_module
from penstock.runtime.work.run_limits import RunLimits
from penstock.schedule import ReadyUnit
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import DeathError, Hall, chain, scan

SIZES = st.lists(st.integers(0, 4), max_size=8)


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "home")


def push_all(hall: Hall, sizes: Sequence[int]) -> list[int]:
    """Push trains of these sizes, numbered through, and return their rows."""
    first = 0
    for size in sizes:
        hall.push("s", *range(first, first + size))
        first += size
    return list(range(first))


def test_a_run_is_in_the_journal_before_it_runs(hall: Hall) -> None:
    root = chain("s", "x")
    hall.add("a", root)
    hall.push("s", 1, 2)
    hall.take_in()
    hall.pool.dies = "before"
    with pytest.raises(DeathError):
        hall.turn()
    (run,) = hall.journal.runs_after(f"unit:{key(root)}", 0)
    assert (run.number, run.inputs) == (1, {key(scan("s")): (1, 1)})
    assert hall.processor.runs == []


def test_small_trains_run_together(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    push_all(hall, [2, 0, 3])
    for _ in range(3):
        hall.take_in()
    hall.turn()
    assert [rows for _, rows in hall.processor.runs] == [[0, 1, 2, 3, 4]]


def test_a_flow_takes_no_more_rows_than_keep_their_order(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home", limits=RunLimits(flow_rows=4))
    hall.add("a", chain("s", "x"))
    push_all(hall, [2, 2, 1, 9, 1])
    hall.drain()
    sizes = [len(rows) for _, rows in hall.processor.runs]
    assert sum(sizes) == 15
    assert all(size <= 4 or size == 9 for size in sizes)


@given(SIZES, st.integers(0, 6), st.integers(1, 9))
@settings(deadline=None)
def test_after_a_death_recorded_runs_take_the_same_trains_again(
    sizes: list[int], steps: int, limit: int
) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home", limits=RunLimits(flow_rows=limit))
        hall.add("a", chain("s", "xy"))
        push_all(hall, sizes)
        for _ in range(steps):
            hall.take_in()
            hall.take_in()
            hall.turn()
        before = hall.processor.runs
        hall.limits = RunLimits(flow_rows=100)
        hall.die()
        hall.drain()
        assert hall.processor.runs[: len(before)] == before


def test_a_train_tells_when_its_first_row_arrived_and_what_is_promised(hall: Hall) -> None:
    root = chain("s", "x")
    hall.add("a", root)
    hall.push("s", 5, 3)
    hall.push("s", 9, 4)
    hall.take_in()
    hall.take_in()
    hall.turn()
    buffer = hall.topology.buffers.get(key(root))
    assert buffer is not None
    (train,) = buffer.waiting("query:a")
    assert (train.info.number, train.info.rows) == (1, 4)
    assert (train.info.first, train.info.last, train.info.watermark) == (3, 9, 9)
    assert train.info.arrived == 1.0  # the script's first place
    assert train.info.size == train.rows.memory_bytes > 0


def test_the_end_goes_through_without_rows(hall: Hall) -> None:
    root = chain("s", "xy")
    hall.add("a", root)
    hall.end("s")
    hall.take_in()
    hall.turn()
    buffer = hall.topology.buffers.get(key(root))
    assert buffer is not None
    assert buffer.watermark == END_OF_TIME


def test_a_unit_that_failed_waits_with_its_run_and_the_others_go_on(hall: Hall) -> None:
    bad, good = chain("s", "x"), chain("s", "y")
    hall.add("a", bad)
    hall.add("b", good)
    hall.processor.fails.add(key(bad))
    hall.push("s", 1)
    hall.drain()
    hall.push("s", 2)
    hall.drain()
    assert (hall.delivered("a"), hall.delivered("b")) == ([], [1, 2])
    assert hall.topology.units[key(bad)].cause
    hall.processor.fails.clear()
    hall.topology.resume(hall.topology.queries["a"])
    hall.turn()
    assert hall.processor.runs[-1] == (key(bad), [1])  # as it was recorded, without the second
    hall.drain()
    assert hall.delivered("a") == [1, 2]


class Choosy:
    """Lets nobody run but one."""

    def __init__(self, only: str | None) -> None:
        self.only = only
        self.seen: list[ReadyUnit] = []

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        self.seen = list(ready)
        return self.only


@pytest.mark.parametrize("only", [None, "nobody", "y"])
def test_the_strategy_decides_who_runs(hall: Hall, only: str | None) -> None:
    hall.add("a", chain("s", "x"))
    hall.add("b", chain("s", "y"))
    hall.push("s", 1, 2)
    hall.take_in()
    wanted = key(chain("s", "y")) if only == "y" else only
    strategy = Choosy(wanted)
    dispatcher = turns_module.Dispatcher(
        hall.topology,
        hall.pool,
        hall.journal,
        hall.clock,
        hall.processor,
        strategy,  # type: ignore[arg-type]
    )
    dispatcher.start(hall.clock.now())
    assert [name for name, _ in hall.processor.runs] == ([wanted] if only == "y" else [])
    assert {(each.waiting_rows, each.waiting_since) for each in strategy.seen} <= {(2, 1.0)}
    assert strategy.seen


def test_no_more_units_run_than_there_are_slots(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    hall.add("a", chain("s", "x"))
    hall.push("s", 1)
    hall.take_in()
    monkeypatch.setattr(type(hall.pool), "free_slots", property(lambda _: 0))
    hall.turn()
    assert hall.processor.runs == []


# -- STOP AFTER ----------------------------------------------------------------------------


@given(SIZES, st.integers(1, 12), st.lists(st.integers(0, 20), max_size=3))
@settings(deadline=None)
def test_a_take_passes_exactly_so_many_tuples_whatever_the_trains_and_deaths(
    sizes: list[int], tuples: int, deaths: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home")
        hall.add("a", Take(scan("s"), "a", tuples))
        rows = push_all(hall, sizes)
        for step in range(20):
            if step in deaths:
                hall.die()
            hall.step()
        hall.drain()
        assert hall.delivered("a") == rows[:tuples]
        full = len(rows) >= tuples
        assert hall.states["a"] is (QueryState.FINISHED if full else QueryState.RUNNING)


def test_a_take_whose_time_is_up_ends_without_another_row(hall: Hall) -> None:
    query = hall.add("a", Take(scan("s"), "a", None))
    hall.push("s", 1, 2)
    hall.drain()
    hall.push("s", 3)
    hall.topology.end_takes(query)
    hall.drain()
    assert hall.delivered("a") == [1, 2]
    assert hall.states["a"] is QueryState.FINISHED


def test_each_query_counts_for_itself(hall: Hall) -> None:
    hall.add("a", Take(scan("s"), "a", 2))
    hall.push("s", 1)
    hall.drain()
    hall.add("b", Take(scan("s"), "b", 2))
    hall.push("s", 2, 3, 4)
    hall.drain()
    assert (hall.delivered("a"), hall.delivered("b")) == ([1, 2], [2, 3])


def test_in_a_drain_only_units_are_started_whose_last_run_was_brief(hall: Hall) -> None:
    brief, other = Filter(scan("s"), ("n > 1",)), Filter(scan("s"), ("n % 2 = 0",))
    hall.add("brief", brief)
    hall.add("other", other)
    hall.topology.units[key(brief)].last_seconds = 0.001
    hall.push("s", 1, 2)
    hall.take_in()
    hall.dispatcher.start_brief(hall.clock.now())
    assert [unit for unit, _ in hall.processor.runs] == [key(brief)]
    hall.turn()
    assert [unit for unit, _ in hall.processor.runs] == [key(brief), key(other)]
