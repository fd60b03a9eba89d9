"""Tuples that do not fit their stream: kept as text with the reason, never lost in silence."""

import json
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import UnknownColumnError
from penstock.model.definitions import StreamDefinition

REJECTS = pa.schema([("raw", pa.string()), ("reason", pa.string())])


def rejects_of(pairs: Iterable[tuple[str, str]]) -> pa.Table | None:
    """Return (raw, reason) pairs as a table, or None where there are none."""
    columns = list(zip(*pairs, strict=True))
    if not columns:
        return None
    return pa.table([pa.array(column, pa.string()) for column in columns], schema=REJECTS)


def joined(parts: Iterable[pa.Table | None]) -> pa.Table | None:
    """Return all rejects as one table, or None where there are none."""
    tables = [part for part in parts if part is not None and part.num_rows]
    return pa.concat_tables(tables) if tables else None


def event_time(definition: StreamDefinition) -> str | None:
    """Return the time column's name as the schema writes it, or None where there is none."""
    if definition.time_column is None:
        return None
    column = definition.schema.find(definition.time_column)
    if column is None:
        raise UnknownColumnError(
            f"{definition.name} has no column {definition.time_column} to take its time from",
            hint=f"there is {', '.join(definition.schema.names)}",
        )
    return column.name


def without_timeless(rows: pa.Table, time_column: str | None) -> tuple[pa.Table, pa.Table | None]:
    """Split off the rows whose event time is null: no window could ever hold them."""
    if time_column is None or not rows[time_column].null_count:
        return rows, None
    timeless = pc.is_null(rows[time_column])
    texts = [json.dumps(row, default=str) for row in rows.filter(timeless).to_pylist()]
    return rows.filter(pc.invert(timeless)), rejects_of(
        (text, no_time(time_column)) for text in texts
    )


def no_time(time_column: str) -> str:
    """Return the reason that a row without an event time carries."""
    return f"{time_column}: the event time is null"
