"""Rehearsal: a unit does once, over made-up rows, what it will do over those that come.

What it keeps, plans and gives goes nowhere. Afterwards Java has loaded and Spark has planned what
the unit asks for, so that its first real rows do not wait for that.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states import counting_state, new_state, new_together
from penstock.engine.states.answers import AnyState, steps_of
from penstock.engine.states.state import Run
from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import in_memory
from penstock.engine.trains.types import arrow_schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, TrainInfo
from penstock.plan.operators import Flow, FlowBundle, Operator
from penstock.plan.sharing.units import Unit

ROWS = 4
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
TICK = timedelta(milliseconds=1)  # from one tuple to the next: all are in few windows

# What the n-th tuple has in a column of each kind of type; in one of any other it has NULL.
KINDS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[int], Any]], ...] = (
    (pa.types.is_integer, lambda n: n + 1),
    (pa.types.is_floating, lambda n: n + 1.5),
    (pa.types.is_decimal, lambda n: Decimal(n % 2)),  # fits any precision
    (pa.types.is_string, lambda n: "abcd"[n]),
    (pa.types.is_boolean, lambda n: n % 2 == 0),
    (pa.types.is_timestamp, lambda n: BEGIN + n * TICK),
    (pa.types.is_date, lambda n: BEGIN.date() + timedelta(days=n)),
)


def can_rehearse(unit: Unit) -> bool:
    """Say whether a rehearsal stays inside, and is worth it.

    Flows call functions that users wrote; what only counts or drops tuples has nothing to load.
    """
    return not isinstance(unit.stateful, Flow | FlowBundle) and counting_state(unit.root) is None


def rehearse(processor: Processor, unit: Unit) -> None:
    """Run a unit with a state of its own: twice over made-up rows, and to the end of its input.

    Gates below it have dropped none of the first rows, and may have dropped some of the second.
    """
    state = _state(unit)
    steps_of(state, _run(processor, unit, BEGIN_OF_TIME, thinned=False), {})
    steps_of(state, _run(processor, unit, BEGIN_OF_TIME), {})
    steps_of(state, _run(processor, unit, END_OF_TIME), {})


def made_up(leaf: Operator) -> pa.Table:
    """Return some tuples of a leaf; the times of each are behind those of the one before."""
    schema = arrow_schema(leaf.schema)
    columns = [pa.array(_values(field.type), field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _values(kind: pa.DataType) -> list[Any]:
    for is_kind, value in KINDS:
        if is_kind(kind):
            return [value(n) for n in range(ROWS)]
    return [None] * ROWS


def _state(unit: Unit) -> AnyState:
    if (bundle := unit.bundle) is not None:
        state = new_together(bundle)
        state.rearranged(bundle, BEGIN_OF_TIME)
        return state
    return None if unit.stateful is None else new_state(unit.stateful, BEGIN_OF_TIME)


def _run(processor: Processor, unit: Unit, mark: int, *, thinned: bool = True) -> Run:
    """Return a run over made-up rows, or over none at the end of time."""
    inputs = 1 if unit.stateful is None else len(unit.stateful.inputs)
    trains = {
        name: [] if mark == END_OF_TIME else [_train(leaf)]
        for name, leaf in zip(unit.inputs, unit.leaves, strict=True)
    }
    rows = {name: [train.rows for train in each] for name, each in trains.items()}
    marks, before = (mark,) * inputs, (BEGIN_OF_TIME,) * inputs
    return Run(processor, unit, rows, marks, before, thinned=thinned, trains=trains)


def _train(leaf: Operator) -> Train:
    rows = in_memory(made_up(leaf))
    return Train(TrainInfo(1, rows.count, rows.memory_bytes, 0.0), rows)
