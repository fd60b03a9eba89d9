"""Views: relations of the schema `system`, their declared columns, and how rows are made."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.runtime.views.inspected import Inspected

TYPES = {
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}

END_OF_MOMENTS = 2**61  # microseconds; no clock gets there

Row = dict[str, Any]


def columns(text: str) -> pa.Schema:
    """Return the columns that a text such as `query STRING, rows BIGINT` declares."""
    pairs = (column.split() for column in text.split(","))
    return pa.schema([(name, TYPES[kind]) for name, kind in pairs])


@dataclass(frozen=True, slots=True)
class View:
    """One relation: SHOW shows all of it, one-time SELECTs what they ask; `about` says of what."""

    name: str
    about: str
    columns: pa.Schema
    rows: Callable[[Inspected], Iterable[Row]]

    def ddl(self) -> str:
        """Return its columns as they were declared."""
        words = {kind: word for word, kind in TYPES.items()}
        return ", ".join(f"{column.name} {words[column.type]}" for column in self.columns)

    def table(self, of: Inspected) -> pa.Table:
        """Return its rows now."""
        return pa.Table.from_pylist(list(self.rows(of)), self.columns)


def first_line(cause: str) -> str:
    """Return what stands in a row of a cause that may be long."""
    return cause.partition("\n")[0]


def shown_time(mark: int) -> int | None:
    """Return a watermark as a time, None at the two ends of time, which are no moments."""
    return mark if abs(mark) < END_OF_MOMENTS else None
