"""IDLE AFTER in what dies: a silent stream holds nobody back, and no promise is broken."""

import tempfile
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, TrainInfo
from penstock.plan.operators import EventTime, Operator, Union, key
from penstock.runtime.sources.source_reader import IDLE_BOUNDARY
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import SCHEMA, DeathError, Hall, chain, scan
from tests.unit.model.scripted import FAIL

SOON = {"idle_after": timedelta(seconds=10)}


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "home", ("s", "t"), clauses=SOON)


def united(one: Operator, two: Operator) -> Operator:
    return Union((one, two), SCHEMA, (EventTime("ts"),))


BOTH = united(scan("s"), scan("t"))


def mark(hall: Hall, root: Operator = BOTH) -> int:
    buffer = hall.topology.buffers.get(key(root))
    assert buffer is not None
    return buffer.watermark


def work(hall: Hall, seconds: float = 0.0) -> None:
    """Let time pass, then do what can be done, without letting more of it pass."""
    hall.clock.sleep(seconds)
    for _ in range(20):
        hall.step()


def test_a_silent_stream_holds_others_back_only_until_it_is_idle(hall: Hall) -> None:
    hall.add("a", BOTH)
    hall.push("t", 5)
    work(hall)
    hall.push("s", 50)
    work(hall, 9)
    assert mark(hall) == 5
    work(hall, 1)
    assert mark(hall) == 50
    assert sorted(hall.delivered("a")) == [5, 50]


def test_without_the_clause_it_is_waited_for(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home", ("s", "t"))
    hall.add("a", BOTH)
    hall.push("s", 50)
    work(hall, 10_000)
    work(hall, 10_000)
    assert mark(hall) == BEGIN_OF_TIME


def test_a_stream_that_never_said_anything_is_idle_too(hall: Hall) -> None:
    hall.add("a", BOTH)
    hall.push("s", 50)
    work(hall)
    work(hall, 9)
    hall.push("s", 60)
    work(hall, 1)
    assert mark(hall) == 60


def test_an_idle_stream_that_wakes_up_is_waited_for_again_and_nothing_goes_back(
    hall: Hall,
) -> None:
    hall.add("a", BOTH)
    hall.push("t", 5)
    hall.push("s", 50)
    work(hall)
    hall.push("s", 60)
    work(hall, 10)
    assert mark(hall) == 60
    hall.push("t", 20)
    hall.push("s", 70)
    work(hall)
    assert mark(hall) == 60
    hall.push("t", 65)
    work(hall)
    assert mark(hall) == 65
    assert sorted(hall.delivered("a")) == [5, 20, 50, 60, 65, 70]


def test_when_all_are_idle_time_stands_at_the_furthest_until_one_wakes_up(hall: Hall) -> None:
    hall.add("a", BOTH)
    hall.push("t", 5)
    hall.push("s", 50)
    work(hall)
    work(hall, 10)
    assert mark(hall) == 50
    hall.push("s", 60)
    work(hall)
    assert mark(hall) == 60


def test_idleness_goes_through_queries_over_queries(hall: Hall) -> None:
    first, second = chain("s", "x"), chain("t", "y")
    whole = united(first, second)
    for name, root in (("a", first), ("b", second), ("c", whole)):
        hall.add(name, root)
    hall.push("t", 5)
    hall.push("s", 50)
    work(hall)
    assert mark(hall, whole) == 5
    hall.push("s", 60)
    work(hall, 10)
    assert mark(hall, whole) == 60


def test_a_query_that_comes_later_does_not_wait_for_an_idle_stream(hall: Hall) -> None:
    hall.add("a", BOTH)
    hall.push("t", 5)
    work(hall)
    work(hall, 10)
    later = united(chain("s", "z"), chain("t", "z"))
    hall.add("b", later)
    hall.push("s", 60)
    work(hall)
    assert mark(hall, later) == 60


def test_a_source_that_cannot_be_read_keeps_nobody_waiting_either(hall: Hall) -> None:
    hall.add("a", BOTH)
    hall.push("t", 5)
    hall.scripts["t"].script += [FAIL] * 50
    hall.push("s", 50)
    work(hall)
    hall.push("s", 60)
    for _ in range(12):
        work(hall, 1)
    assert mark(hall) == 60


def test_the_end_of_one_does_not_end_what_an_idle_one_may_add_to(hall: Hall) -> None:
    hall.add("a", BOTH)
    hall.push("t", 5)
    hall.push("s", 50)
    work(hall)
    hall.end("s")
    work(hall, 10)
    assert mark(hall) == 5
    hall.push("t", 70)
    hall.end("t")
    work(hall)
    assert sorted(hall.delivered("a")) == [5, 50, 70]
    assert not hall.topology.queries


def test_silence_is_in_the_journal_before_it_counts(hall: Hall) -> None:
    hall.add("a", BOTH)
    hall.push("t", 5)
    hall.take_in()
    hall.clock.sleep(10)
    hall.pool.dies = "before"
    with pytest.raises(DeathError):
        hall.take_in()
    (recorded,) = [
        each
        for name in "st"
        for each in hall.journal.trains_after(key(scan(name)), 0)
        if each.boundary == IDLE_BOUNDARY
    ]
    hall.die()
    work(hall)
    source_reader = hall.topology.source_readers[recorded.stream]
    assert source_reader.idle


CLOCKED = {"idle_after": timedelta(seconds=10), "idle_by_clock": True}
SECOND = 1_000_000


def test_by_clock_a_silent_streams_time_goes_on_every_second(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home", ("s", "t"), clauses=CLOCKED)
    hall.add("a", BOTH)
    hall.push("s", 50)
    hall.push("t", 5)
    work(hall)
    work(hall, 9)
    assert mark(hall) == 5
    work(hall, 1)
    assert mark(hall) == 5 + 10 * SECOND
    work(hall, 0.5)
    assert mark(hall) == 5 + 10 * SECOND
    work(hall, 7)
    assert mark(hall) == 5 + 17 * SECOND + SECOND // 2
    hall.push("t", 7)
    work(hall)
    assert mark(hall) == 5 + 17 * SECOND + SECOND // 2  # it does not go back


def test_by_clock_a_death_takes_no_time_back(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home", ("s", "t"), clauses=CLOCKED)
    hall.add("a", BOTH)
    hall.push("s", 5)
    hall.push("t", 5)
    work(hall)
    work(hall, 30)
    reached = mark(hall)
    assert reached == 5 + 30 * SECOND
    hall.die()
    work(hall)
    assert mark(hall) == reached
    work(hall, 40)
    assert mark(hall) > reached


def test_by_clock_a_stream_that_never_said_anything_is_idle(tmp_path: Path) -> None:
    hall = Hall(tmp_path / "home", ("s", "t"), clauses=CLOCKED)
    hall.add("a", BOTH)
    hall.push("s", 50)
    work(hall)
    work(hall, 9)
    hall.push("s", 60)
    work(hall, 1)
    assert mark(hall) == 60


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["push s", "push t", "take_in", "turn", "deliver", "checkpoint", "die", "wait"]
            + [f"{what} {when}" for what in ("turn", "take_in") for when in ("before", "after")]
        ),
        st.integers(0, 9),
    ),
    max_size=40,
)


@given(STEPS, st.sampled_from([SOON, CLOCKED]))
@settings(deadline=None, max_examples=examples(150))
def test_a_death_changes_no_promise_and_no_promise_is_taken_back(
    steps: list[tuple[str, int]], clauses: Mapping[str, object]
) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home", ("s", "t"), clauses=clauses)
        roots = [BOTH, united(chain("s", "x"), BOTH)]
        for number, root in enumerate(roots):
            hall.add(f"q{number}", root)
        promised: dict[tuple[str, int], TrainInfo] = {}
        count = 0
        for step, by in steps:
            what, _, when = step.partition(" ")
            if what == "push":
                hall.push(when, count * 3 + by)
                count += 1
            elif what == "wait":
                hall.clock.sleep(by)
            elif when:
                hall.pool.dies = when
                try:
                    getattr(hall, what)()
                except DeathError:
                    hall.die()
                hall.pool.dies = ""
            else:
                getattr(hall, what)()
            note(hall, roots, promised)
        for name in "st":
            hall.end(name)
        hall.drain()
        for name in hall.roots:
            given_ = hall.pushed["s"] * (2 if name == "q1" else 1) + hall.pushed["t"]
            assert sorted(hall.delivered(name)) == sorted(given_)


def note(hall: Hall, roots: list[Operator], promised: dict[tuple[str, int], TrainInfo]) -> None:
    """Compare every train between operators with the one of its number before a death."""
    for root in roots:
        buffer = hall.topology.buffers.get(key(root))
        held = buffer.held() if buffer is not None else []
        for train in held:
            again = promised.setdefault((key(root), train.info.number), train.info)
            assert (again.watermark, again.idle, again.rows) == (
                train.info.watermark,
                train.info.idle,
                train.info.rows,
            )
        marks = [train.info.watermark for train in held]
        assert marks == sorted(marks)
        assert END_OF_TIME not in marks
