"""Plain answers: what plain steps make of a small train, by Arrow (`plan/sharing/plain_steps.py`).

A plan for a train of a few rows costs Spark tens of milliseconds; picking rows costs less than one.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.trains.span_picks import pick
from penstock.plan.sharing.plain_steps import PickColumns, PickRows, PlainColumn, PlainStep

COMPUTED = {"add": pc.add, "subtract": pc.subtract, "multiply": pc.multiply}


def answer(table: pa.Table, steps: Sequence[PlainStep]) -> pa.Table:
    """Return the rows after the steps, in the order in which they came."""
    for step in steps:
        match step:
            case PickRows(asked):
                table = table.take(pa.array(pick(table, [asked])[0]))
            case PickColumns(columns):
                values = [_value(table, column) for column in columns]
                table = pa.table(values, names=[column.name for column in columns])
    return table


def _value(table: pa.Table, column: PlainColumn) -> pa.ChunkedArray:
    values = table[column.column]
    if not column.arithmetic:
        return values
    return COMPUTED[column.arithmetic](values, column.number)
