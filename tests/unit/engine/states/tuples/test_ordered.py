"""The order of tuples, however they arrive and are cut; Spark is not asked."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states import KeptPart, new_state, restored
from penstock.engine.states.state import KeptState, Run
from penstock.engine.states.tuples import ordered
from penstock.engine.states.tuples.ordered import OrderedState
from penstock.engine.trains.rows import in_memory
from penstock.model.schema import Column, Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import NUMBER, EventTime, Operator, Ordered, Scan, key
from penstock.plan.sharing.units import Unit

pytest.importorskip("pyspark")

ROW = Schema((Column("ts", "timestamp"), Column("id", "int")))
ARROW = pa.schema([("ts", pa.timestamp("us", "UTC")), ("id", pa.int32())])
TIMED = Scan("s", 1, ROW, (EventTime("ts"),))
UNTIMED = Scan("s", 1, ROW)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
FIRST = int(BEGIN.timestamp()) * 1_000_000


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell the types that Spark would: it parses them in a session."""
    wide = pa.schema([*ARROW, (NUMBER, pa.int64())])
    kinds = {2: ARROW, 3: wide}
    monkeypatch.setattr(ordered, "arrow_schema", lambda schema: kinds[len(schema)])
    monkeypatch.setattr(ordered, "empty_table", lambda _: ARROW.empty_table())


class Disk:
    """A processor that has only a place to spill to."""

    def __init__(self, spill: Path) -> None:
        self.spill = spill


def at(second: int) -> int:
    return FIRST + second * 1_000_000


def table(rows: list[tuple[int, int]]) -> pa.Table:
    columns = [[BEGIN + timedelta(seconds=s) for s, _ in rows], [i for _, i in rows]]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, ARROW, strict=True)], ARROW)


def run(rows: pa.Table, mark: int, before: int, spill: Path, below: Operator = TIMED) -> Run:
    unit = Unit(Ordered(below, "time"), (below,), Ordered(below, "time"))
    disk = cast(Processor, Disk(spill))
    return Run(disk, unit, {key(below): [in_memory(rows)]}, (mark,), (before,))


def shown(found: pa.Table) -> list[tuple[Any, ...]]:
    return [(row["id"], row[NUMBER]) for row in found.to_pylist()]


def again(state: OrderedState) -> OrderedState:
    """Return the state as a checkpoint brings it back."""
    kept = state.kept()
    parts = [KeptPart(part.rows, dict(part.facts)) for part in kept.parts]
    back = restored(state.operator, KeptState(dict(kept.facts), parts))
    assert isinstance(back, OrderedState)
    return back


ARRIVALS = st.lists(st.integers(0, 12), max_size=60)
CUTS = st.lists(st.integers(1, 8), min_size=1, max_size=8)


@given(ARRIVALS, CUTS, st.integers(0, 12), st.booleans())
def test_any_cut_gives_one_order_by_time_and_then_arrival(
    tmp_path_factory: pytest.TempPathFactory,
    times: list[int],
    cuts: list[int],
    slack: int,
    spills: bool,
) -> None:
    spill = tmp_path_factory.mktemp("spill")
    state = OrderedState(Ordered(TIMED, "time"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered, "WAITING_BYTES", 0 if spills else 1 << 30)
        patch.setattr(ordered, "MERGE_PARTS", 3)
        patch.setattr(ordered.Rows, "to_table", read_back)
        found, placed, high, before = [], [], 0, BEGIN_OF_TIME
        arrived = list(zip(times, range(len(times)), strict=True))
        while arrived:
            size = cuts[len(arrived) % len(cuts)]
            train, arrived = arrived[:size], arrived[size:]
            placed += [row for row in train if at(row[0]) >= before]
            high = max([high, *(second for second, _ in train)])
            step = state.step(run(table(train), at(high - slack), before, spill))
            found += shown(step.table)
            assert (step.late.column("id").to_pylist() if step.late else []) == [
                row[1] for row in train if at(row[0]) < before
            ]
            before = at(high - slack)
            state = again(state)
        found += shown(state.step(run(table([]), END_OF_TIME, before, spill)).table)
    assert found == [(i, n) for n, (_, i) in enumerate(sorted(placed, key=lambda r: r[0]), 1)]
    assert not state.parts


def read_back(rows: Any, _: Schema) -> pa.Table:
    """Read what was spilled without asking Spark for the types."""
    if rows.table is not None:
        return rows.table
    return pa.concat_tables([pa.parquet.read_table(path) for path in rows.paths])


def test_without_times_arrival_is_the_order(tmp_path: Path) -> None:
    state = OrderedState(Ordered(UNTIMED, "time"))
    first = run(table([(3, 1), (1, 2)]), BEGIN_OF_TIME, BEGIN_OF_TIME, tmp_path, UNTIMED)
    assert shown(state.step(first).table) == [(1, 1), (2, 2)]
    second = run(table([(0, 3)]), BEGIN_OF_TIME, BEGIN_OF_TIME, tmp_path, UNTIMED)
    assert shown(state.step(second).table) == [(3, 3)]
    assert state.promise((BEGIN_OF_TIME,)) == BEGIN_OF_TIME


def test_numbers_promise_the_next_one(tmp_path: Path) -> None:
    state = new_state(Ordered(TIMED, "number"), BEGIN_OF_TIME)
    assert state.promise((BEGIN_OF_TIME,)) == 1
    state.step(run(table([(3, 1), (1, 2)]), at(2), BEGIN_OF_TIME, tmp_path))
    assert state.promise((at(2),)) == 2
    assert state.promise((END_OF_TIME,)) == END_OF_TIME


def test_a_tuple_at_the_watermark_has_its_place_behind_those_before_it(tmp_path: Path) -> None:
    state = OrderedState(Ordered(TIMED, "time"))
    assert shown(state.step(run(table([(2, 1)]), at(2), BEGIN_OF_TIME, tmp_path)).table) == [(1, 1)]
    step = state.step(run(table([(2, 2), (1, 3)]), at(2), at(2), tmp_path))
    assert shown(step.table) == [(2, 2)]
    assert step.late is not None
    assert step.late.column("id").to_pylist() == [3]
