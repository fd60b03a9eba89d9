"""The state of a flow: what was given up stays given up when a run is done again."""

import itertools
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engine.states import above, sites
from penstock.engine.states.sites import SitesState
from penstock.engine.states.state import Decided, KeptState, Run, RunOutput
from penstock.engine.states.tuples import ordered
from penstock.engine.trains.rows import in_memory
from penstock.functions import (
    Dataflow,
    Items,
    StreamType,
    hash_part,
    identity,
    pcc,
    rr_part,
    s_merge,
    stream_function,
    window_aggregate,
)
from penstock.functions.flows.stages import stages_of
from penstock.model.functions.time_outs import TimeOuts
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME
from penstock.plan.operators import EventTime, Flow, Ordered, Scan, key
from penstock.plan.operators.tuples.ordered import NUMBER
from penstock.plan.sharing.units import Unit
from penstock.runtime.names.flows import flow_operator

TIMED = StreamType("timed", (Column("ts", "timestamp"), Column("n", "bigint")), "ts")
SCAN = Scan("s", 1, TIMED.schema, (EventTime("ts"),))


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell the types that Spark would: it parses them in a session."""

    def arrow_schema(schema: Schema) -> pa.Schema:
        return StreamType("any", schema.columns).arrow()

    for module in (above, ordered, sites):
        monkeypatch.setattr(module, "arrow_schema", arrow_schema)
    for module in (above, sites):
        monkeypatch.setattr(module, "empty_table", lambda each: arrow_schema(each).empty_table())


class Lanes:
    """A processor that does everything here, one after the other."""

    slots = 2

    def side_by_side(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        return [work() for work in works]

    def in_time(self, work: Callable[[], Any]) -> Any:
        return work()


def flow(timeout: float | None = 1.0) -> Flow:
    return operator(pcc(2, rr_part, identity, s_merge(timeout)))


def uneven() -> Flow:
    """Return a flow whose branches fill their windows at different times, so that one waits."""
    return operator(pcc(2, hash_part("n"), window_aggregate("sum", 3), s_merge(3.0)))


def operator(made: Dataflow) -> Flow:
    stages = stages_of(made, TIMED)
    return flow_operator(SCAN, stages, "flow", "driver")


def run(operator: Flow, first: int, time_outs: TimeOuts | None, noted: list[TimeOuts]) -> Run:
    assert isinstance(operator.input, Ordered)
    numbers = np.arange(first, first + 4, dtype=np.int64)
    stamps = pa.array(numbers * 1_000_000).cast(pa.timestamp("us", tz="UTC"))
    table = pa.table({"ts": stamps, "n": numbers, NUMBER: numbers + 1})
    rows = {key(operator.input): [in_memory(table)]}
    unit = Unit(operator, (operator.input,), operator)
    mark = 1_000_000 * (first + 3)
    lanes: Any = Lanes()
    decided = Decided(time_outs=time_outs)
    return Run(lanes, unit, rows, (mark,), (BEGIN_OF_TIME,), decided=decided, note=noted.append)


def numbers(step: RunOutput) -> list[int]:
    found: list[int] = step.table["n"].to_pylist()
    return found


def held(step: RunOutput) -> list[str]:
    return [] if step.late is None else step.late["kind"].to_pylist()


def test_a_run_notes_what_the_clock_decides_and_is_told_when_it_is_done_again() -> None:
    noted: list[TimeOuts] = []
    state = SitesState.new(flow())
    step = state.step(run(state.operator, 0, None, noted))
    assert (numbers(step), held(step)) == ([0, 1, 2, 3], [])
    assert [each.lost for each in noted] == [()]
    state = SitesState.new(flow())
    step = state.step(run(state.operator, 0, TimeOuts(0.0, ((0, 0, 1),)), noted))
    assert (numbers(step), held(step)) == ([0, 2], ["lost"] * 2)
    assert len(noted) == 1  # it is known already
    step = state.step(run(state.operator, 4, None, noted))
    assert numbers(step) == [4, 5, 6, 7]  # the next share begins where this one ended


@settings(
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.floats(0, 9), min_size=20, max_size=20))
def test_merges_go_by_the_time_that_was_noted(clock: list[float]) -> None:
    """Branches whose windows hold items back, so that the merge waits, and gives up waiting."""

    def given_by(times: Sequence[TimeOuts | None], noted: list[TimeOuts]) -> list[list[int]]:
        state = SitesState.new(uneven())
        return [
            numbers(state.step(run(state.operator, 4 * at, each, noted)))
            for at, each in enumerate(times)
        ]

    told = [TimeOuts(now) for now in itertools.accumulate(clock)]
    noted: list[TimeOuts] = []
    with pytest.MonkeyPatch.context() as patch:
        seconds = iter(each.now for each in told)
        ours = SimpleNamespace(**{**vars(time), "time": lambda: next(seconds)})
        patch.setattr(sites, "time", ours)  # and nobody else's: other threads ask, too
        first = given_by([None] * len(told), noted)
    assert noted == told
    assert given_by(told, []) == first


def test_the_clock_shows_where_a_merge_gives_up_waiting() -> None:
    found = []
    for pause in (0.0, 9.0):
        state = SitesState.new(uneven())
        times = [TimeOuts(pause * at) for at in range(20)]
        steps = [state.step(run(state.operator, 4 * at, t, [])) for at, t in enumerate(times)]
        found.append([numbers(step) for step in steps])
    assert found[0] != found[1]


def test_without_a_time_out_nothing_is_noted() -> None:
    noted: list[TimeOuts] = []
    state = SitesState.new(flow(None))
    state.step(run(state.operator, 0, None, noted))
    assert noted == []


def test_what_a_partition_fails_on_in_every_branch_is_held_once() -> None:
    @stream_function(role="partition", over="items")
    def picky(items: Items, _n: int, _i: int) -> Items:
        if (items["n"] == 2).any():
            raise ValueError("two")
        return items.slice(0, len(items))

    state = SitesState.new(operator(pcc(3, picky, identity, s_merge)))
    step = state.step(run(state.operator, 0, None, []))
    assert held(step) == ["held"]


def test_a_checkpoint_from_before_there_were_plans_comes_back() -> None:
    state = SitesState.new(flow())
    state.step(run(state.operator, 0, None, []))
    kept = state.kept()
    facts = {name: fact for name, fact in kept.facts.items() if name != "plan"}
    back = SitesState.back(state.operator, KeptState(facts, kept.parts))
    assert (back.plan, back.nodes_of) == ("", "")
    assert numbers(back.step(run(back.operator, 4, None, []))) == [4, 5, 6, 7]
