"""Since when rows are due, against what is told by going through the trains one by one."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import in_memory
from penstock.model.schema import Column, Schema
from penstock.model.trains import END_OF_TIME, TrainInfo
from penstock.plan.operators import (
    EventTime,
    Filter,
    Operator,
    Ordered,
    Project,
    SessionAggregate,
    WindowAggregate,
    key,
)
from penstock.plan.operators.windows.window_assigner import spans
from penstock.plan.sharing.units import Unit
from penstock.runtime.work.moments import MOST_ARRIVALS, Arrivals, Moments, RunMoments
from penstock.runtime.work.reading import Reading
from tests.unit.model.hall import scan

STREAM = scan("s")
NAME = key(STREAM)
BOUNDS = Schema((Column("window_start", "timestamp"), Column("window_end", "timestamp")))
COUNTED = WindowAggregate(STREAM, EventTime("ts"), spans(10, 10), (), (), BOUNDS)


def train(
    number: int, arrived: float, mark: int, *times: int, answerable: float | None = None
) -> Train:
    span = (min(times), max(times)) if times else (None, None)
    info = TrainInfo(number, len(times), 0, arrived, *span, mark, answerable=answerable)
    return Train(info, in_memory(pa.table({"n": list(times)})))


def moments(
    root: Operator,
    trains: Sequence[Train],
    *,
    before: int = 0,
    first: int | None = None,
    arrivals: Arrivals | None = None,
) -> Moments | None:
    stateful = root if not isinstance(root, Filter | Project) else None
    unit = Unit(root, (STREAM,), stateful)
    reading = Reading({NAME: before}, reached=(before,))
    return RunMoments(unit, reading, {NAME: trains}, arrivals or Arrivals()).of(root, first)


def test_a_filter_s_rows_are_due_when_the_first_tuple_comes() -> None:
    two = [train(1, 5.0, 3, 1, 3), train(2, 6.0, 4, 4)]
    assert moments(Filter(STREAM, ("true",)), two, first=1) == Moments(5.0, 5.0)


def test_trains_without_rows_make_nothing_older() -> None:
    two = [train(1, 2.0, 3), train(2, 6.0, 4, 4)]
    assert moments(Filter(STREAM, ("true",)), two, first=4) == Moments(6.0, 6.0)


def test_a_run_without_trains_has_no_moments() -> None:
    assert moments(Filter(STREAM, ("true",)), []) is None


def test_a_window_is_due_when_the_train_comes_that_closes_it() -> None:
    run = [train(1, 1.0, 4, 4), train(2, 2.0, 9, 9), train(3, 3.0, 12, 12), train(4, 4.0, 15, 15)]
    assert moments(COUNTED, run, first=0) == Moments(2.0, 3.0)


def test_the_tuples_of_a_window_may_have_come_in_an_earlier_run() -> None:
    arrivals = Arrivals()
    early = [train(1, 1.0, 4, 4), train(2, 2.0, 8, 8)]
    moments(COUNTED, early, arrivals=arrivals)
    assert moments(COUNTED, [train(3, 7.0, 30)], before=8, first=0, arrivals=arrivals) == Moments(
        2.0, 7.0
    )


def test_a_window_whose_bounds_nobody_shows_is_due_all_the_same() -> None:
    root = Project(COUNTED, (("n", "1"),), Schema((Column("n", "bigint"),)))
    unit = Unit(root, (STREAM,), COUNTED)
    run = [train(1, 1.0, 9, 9), train(2, 2.0, 12, 12)]
    found = RunMoments(unit, Reading({NAME: 5}, reached=(5,)), {NAME: run}, Arrivals())
    assert found.of(root, None) == Moments(1.0, 2.0)


def test_rows_of_a_window_that_is_open_or_was_closed_before_wait_for_nothing() -> None:
    run = [train(1, 1.0, 4, 4), train(2, 2.0, 9, 9)]
    assert moments(COUNTED, run, first=0) == Moments(1.0, 1.0)


def test_the_end_closes_what_is_open() -> None:
    run = [train(1, 1.0, 4, 4), train(2, 9.0, END_OF_TIME)]
    assert moments(COUNTED, run, first=0) == Moments(1.0, 9.0)


def test_what_was_ready_late_makes_a_window_ready_late() -> None:
    run = [train(1, 1.0, 9, 9), train(2, 2.0, 12, 12, answerable=5.0)]
    assert moments(COUNTED, run, first=0) == Moments(1.0, 5.0)


def test_a_session_is_due_when_its_gap_is_over() -> None:
    session = SessionAggregate(STREAM, EventTime("ts"), 5, (), (), BOUNDS)
    arrivals = Arrivals()
    run = [train(1, 1.0, 2, 2), train(2, 2.0, 6, 6), train(3, 3.0, 8, 8), train(4, 4.0, 9, 9)]
    assert moments(session, run, first=7, arrivals=arrivals) == Moments(1.0, 3.0)


def test_a_tuple_in_order_is_due_when_none_can_come_before_it() -> None:
    run = [train(1, 1.0, 3, 5), train(2, 2.0, 5, 7), train(3, 3.0, 6, 8)]
    assert moments(Ordered(STREAM, "time"), run, first=5) == Moments(1.0, 3.0)


TRAINS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(-4, 12), max_size=3)), min_size=1, max_size=12
)


@given(TRAINS, st.integers(0, 3))
def test_a_window_s_moments_are_those_of_going_through_the_trains(
    steps: list[tuple[int, list[int]]], cut: int
) -> None:
    """Trains of tuples around a rising time, with a slack of 4, in two runs."""
    trains: list[Train] = []
    high = 0
    for number, (gap, offsets) in enumerate(steps, start=1):
        times = [max(0, high + each) for each in offsets]
        high = max([high, *times])
        trains.append(train(number, float(number + gap * 0.1), high - 4, *times))
    first, second = trains[:cut], trains[cut:]
    before = first[-1].info.watermark if first else -4
    arrivals = Arrivals()
    if first:
        moments(COUNTED, first, before=-4, arrivals=arrivals)
    found = moments(COUNTED, second, before=before, arrivals=arrivals) if second else None
    end = (before // 10 + 1) * 10
    closing = [each for each in second if each.info.watermark >= end]
    if not closing or found is None:
        return
    assert found.ready == closing[0].info.arrived
    inside = [each for each in trains if each.info.first is not None and each.info.first < end]
    if inside:
        assert found.arrived == min(found.ready, inside[-1].info.arrived)
    assert found.arrived <= found.ready


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=30))
def test_arrivals_tell_the_newest_of_all_trains(added: list[tuple[int, int]]) -> None:
    arrivals = Arrivals()
    for first, arrived in added:
        arrivals.add(first, float(arrived))
    for end in range(22):
        newest = max((float(arrived) for first, arrived in added if first < end), default=None)
        assert arrivals.newest_before(end) == newest


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=30), st.integers(0, 20))
def test_what_is_forgotten_no_later_window_needs(added: list[tuple[int, int]], mark: int) -> None:
    arrivals, whole = Arrivals(), Arrivals()
    for first, arrived in added:
        arrivals.add(first, float(arrived))
        whole.add(first, float(arrived))
    arrivals.forget(mark)
    for end in range(mark, 22):
        assert arrivals.newest_before(end) == whole.newest_before(end)


def test_a_watermark_that_stands_still_gathers_no_more_than_a_bound() -> None:
    arrivals = Arrivals()
    for number in range(MOST_ARRIVALS * 2):
        arrivals.add(number, float(number))
    assert len(arrivals.firsts) == len(arrivals.moments) == MOST_ARRIVALS


@pytest.mark.parametrize("before", [9, 10, 11])
def test_the_next_window_to_close_is_the_first_that_ends_behind_the_watermark(before: int) -> None:
    end = 10 if before < 10 else 20
    run = [train(1, 1.0, end - 1, end - 1), train(2, 2.0, end, end)]
    assert moments(COUNTED, run, before=before, first=end - 10) == Moments(1.0, 2.0)
