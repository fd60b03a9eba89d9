"""An order for rows that come out of a hash table: a replay must not differ."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def sorted_rows(table: pa.Table, first: Sequence[str]) -> pa.Table:
    """Return the rows by the columns named first, then by everything else that has an order."""
    names = order_of(table.schema, first)
    if table.num_rows <= 1 or not names:
        return table
    return table.sort_by([(name, "ascending") for name in names])


def order_of(schema: pa.Schema, first: Sequence[str]) -> list[str]:
    """Return the columns named first, then all others that have an order."""
    plain = [f.name for f in schema if not pa.types.is_nested(f.type)]
    return [*first, *(name for name in plain if name not in first)]


def in_order_of(table: pa.Table, times: Sequence[str]) -> pa.Table:
    """Return the rows by some columns; those that are alike in them stay as they are."""
    if all(_is_rising(table[name]) for name in times):
        return table
    return table.sort_by([(name, "ascending") for name in times])  # which is stable


def _is_rising(column: pa.ChunkedArray) -> bool:
    """Say whether no value is below the one before it."""
    if column.null_count or not pa.types.is_timestamp(column.type):
        return False
    values = column.cast(pa.int64()).to_numpy()
    return bool(np.all(values[:-1] <= values[1:]))
