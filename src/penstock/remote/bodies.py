"""Rows as they are sent: Arrow where they are columns, lines of JSON where they are rows."""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from penstock.errors import BadRowError
from penstock.remote.answers import ARROW

LINES = "application/x-ndjson"
HINT = "push mappings, columns, a DataFrame, or a table of Arrow"
TEXTS = (str, bytes, bytearray, memoryview)
WRONG = (pa.ArrowException, TypeError, ValueError)
STREAM, ARRAY = "__arrow_c_stream__", "__arrow_c_array__"


def encoded(rows: object) -> tuple[str, bytes, int]:
    """Return the type of a body, the body, and how many rows it has."""
    if isinstance(rows, Mapping):
        is_row = not all(map(_is_column, rows.values()))
        return _as_lines([rows]) if is_row else _as_arrow(_of_columns(rows))
    if (table := _table(rows)) is not None:
        return _as_arrow(table)
    if isinstance(rows, TEXTS) or not isinstance(rows, Iterable):
        raise BadRowError(f"{type(rows).__name__} holds no rows", hint=HINT)
    return _as_lines(list(rows))


def _is_column(value: object) -> bool:
    """Say whether a value is a sequence of values."""
    if isinstance(value, np.ndarray):
        return bool(value.ndim)
    is_one = isinstance(value, (*TEXTS, Mapping, pa.Scalar))
    return not is_one and (isinstance(value, Iterable) or hasattr(value, ARRAY))


def _of_columns(columns: Mapping[Any, Any]) -> pa.Table:
    try:
        return pa.table({str(name): _column(values) for name, values in columns.items()})
    except WRONG as error:
        raise BadRowError(f"the columns make no table: {error}", hint=HINT) from error


def _column(values: Any) -> Any:
    """Return what Arrow makes a column of; the rows of a matrix are lists."""
    if isinstance(values, np.ndarray):
        return values.tolist() if values.ndim > 1 else values
    return values if hasattr(values, ARRAY) or hasattr(values, STREAM) else list(values)


def _table(rows: Any) -> pa.Table | None:
    """Return a table of Arrow's, pandas or any library with Arrow's interface, or None."""
    try:
        if isinstance(rows, pd.DataFrame):  # its own export would take the index for a column
            return pa.Table.from_pandas(rows, preserve_index=False)
        if hasattr(rows, STREAM) or hasattr(rows, ARRAY):
            return pa.table(rows)
    except WRONG as error:
        raise BadRowError(f"the rows make no table: {error}", hint=HINT) from error
    return None


def _as_arrow(table: pa.Table) -> tuple[str, bytes, int]:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return ARROW, out.getvalue().to_pybytes(), table.num_rows


def _as_lines(rows: Sequence[Any]) -> tuple[str, bytes, int]:
    try:
        lines = [json.dumps(row, default=_plain, ensure_ascii=False) for row in rows]
    except (TypeError, ValueError) as error:
        raise BadRowError(f"the rows cannot be sent: {error}", hint=HINT) from error
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
