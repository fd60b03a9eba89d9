"""Tuples that do not fit their stream: kept as text with the reason, never lost in silence."""

import json
from collections.abc import Iterable
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import UnknownColumnError, shortened
from penstock.model.definitions import StreamDefinition
from penstock.model.schema import Column


class Reject(NamedTuple):
    """A tuple as text and why it was refused, as a sentence and in parts that can be counted.

    The kind is one of `type` (a value that is none of its column's type), `time` (no event time),
    `fields` (too many or too few), `syntax`, `line break`, `encoding`, `file` and `vector`.
    """

    raw: str
    reason: str
    column: str | None = None
    kind: str | None = None
    value: str | None = None


REJECTS = pa.schema([(name, pa.string()) for name in Reject._fields])


def rejects_of(rejects: Iterable[Reject]) -> pa.Table | None:
    """Return rejects as a table, or None where there are none."""
    columns = list(zip(*rejects, strict=True))
    if not columns:
        return None
    return pa.table([pa.array(column, pa.string()) for column in columns], schema=REJECTS)


def misfit(raw: str, column: Column, value: object) -> Reject:
    """Return the reject of a value that is none of its column's type."""
    shown = shortened(str(value))
    reason = f"{column.name}: {shown!r} is not {column.type.upper()}"
    return Reject(raw, reason, column.name, "type", shown)


def unreadable(path: object, error: Exception) -> Reject:
    """Return the reject of a whole file."""
    return Reject(str(path), f"the file cannot be read: {error}", kind="file")


def timeless(raw: str, time_column: str) -> Reject:
    """Return the reject of a row without an event time."""
    return Reject(raw, no_time(time_column), time_column, "time")


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
    missing = pc.is_null(rows[time_column])
    texts = [json.dumps(row, default=str) for row in rows.filter(missing).to_pylist()]
    return rows.filter(pc.invert(missing)), rejects_of(timeless(t, time_column) for t in texts)


def no_time(time_column: str) -> str:
    """Return the reason that a row without an event time carries."""
    return f"{time_column}: the event time is null"
