"""Rows as they are sent: Arrow where they are columns, lines of JSON where they are rows."""

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.errors import BadRowError
from penstock.remote.answers import ARROW

LINES = "application/x-ndjson"
ROWS_HINT = "push mappings, columns, a DataFrame, or a table of Arrow"


def encoded(rows: object) -> tuple[str, bytes, int]:
    """Return the type of a body, the body, and how many rows it has."""
    if isinstance(rows, Mapping):
        if not any(_is_column(each) for each in rows.values()):
            return _as_lines([rows])
        rows = _from_columns(rows)
    elif isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
        return _as_lines(rows)
    return _as_arrow(_table(rows))


def _is_column(value: object) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return is_list or hasattr(value, "__array__") or isinstance(value, pa.Array | pa.ChunkedArray)


def _from_columns(columns: Mapping[Any, Any]) -> pa.Table:
    try:
        return pa.table({str(name): values for name, values in columns.items()})
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise BadRowError(f"the columns make no table: {error}", hint=ROWS_HINT) from error


def _table(rows: Any) -> pa.Table:
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, pa.RecordBatchReader):
        return rows.read_all()
    try:
        if hasattr(rows, "to_arrow"):  # polars
            return pa.table(rows.to_arrow())
        if hasattr(rows, "iloc"):  # pandas
            return pa.Table.from_pandas(rows, preserve_index=False)
        if hasattr(rows, "__arrow_c_stream__"):
            return pa.table(rows)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise BadRowError(f"the rows make no table: {error}", hint=ROWS_HINT) from error
    raise BadRowError(f"rows cannot be {type(rows).__name__}", hint=ROWS_HINT)


def _as_arrow(table: pa.Table) -> tuple[str, bytes, int]:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return ARROW, out.getvalue().to_pybytes(), table.num_rows


def _as_lines(rows: Sequence[Any]) -> tuple[str, bytes, int]:
    try:
        lines = [json.dumps(row, default=_plain, ensure_ascii=False) for row in rows]
    except (TypeError, ValueError) as error:
        raise BadRowError(f"the rows cannot be sent: {error}", hint=ROWS_HINT) from error
    return LINES, "\n".join(lines).encode("utf-8", "replace"), len(rows)


def _plain(value: Any) -> Any:
    """Return what JSON has no word for as the server reads it."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):  # numpy's
        return value.tolist()
    if type(value).__name__ in ("NAType", "NaTType"):  # what pandas puts in the place of None
        return None
    raise TypeError(f"{type(value).__name__} has no word in JSON")
