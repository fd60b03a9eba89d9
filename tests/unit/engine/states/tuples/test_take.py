"""A Take by hand: the first tuples, then the end, however they come."""

from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.states.state import Run, RunOutput
from penstock.engine.states.tuples.take import TakeState
from penstock.engine.trains.rows import in_memory
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import EventTime, Scan, Take, key
from penstock.plan.sharing.units import Unit
from tests.unit.model.arrow_twin import arrow_without_spark

SCAN = Scan("s", 1, Schema((Column("n", "bigint"),)), (EventTime("ts"),))
MARK = 7


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


def step(state: TakeState, *trains: list[int]) -> RunOutput:
    """Take a run over trains, without any processor."""
    rows = [in_memory(pa.table({"n": pa.array(each, pa.int64())})) for each in trains]
    unit = Unit(state.take, (SCAN,))
    run = Run(cast("Any", None), unit, {key(SCAN): rows}, (MARK,), (BEGIN_OF_TIME,))
    return state.step(run)


@given(
    st.lists(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=3)),
    st.integers(0, 12),
)
def test_the_first_tuples_come_and_the_end_with_the_last_of_them(
    runs: list[list[list[int]]], many: int
) -> None:
    state, given_rows, taken = TakeState(Take(SCAN, "q", many)), list[int](), list[int]()
    for trains in runs:
        given_rows += [each for train in trains for each in train]
        taken += step(state, *trains).table["n"].to_pylist()
        assert taken == given_rows[:many]
        assert state.promise((MARK,)) == (END_OF_TIME if len(taken) == many else MARK)


def test_a_run_over_no_trains_is_the_end_and_nothing_comes_behind_it() -> None:
    state = TakeState(Take(SCAN, "q", None))
    assert step(state, [1, 2]).table["n"].to_pylist() == [1, 2]
    assert state.promise((MARK,)) == MARK
    assert step(state).table.num_rows == 0
    assert step(state, [3]).table.num_rows == 0
    assert state.promise((MARK,)) == END_OF_TIME
    assert state.taken == 2
