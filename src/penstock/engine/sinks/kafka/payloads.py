"""Rows as records: values in the sink's format, keys from a column."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from penstock.engine.sinks.csv_text import cell_text, csv_lines
from penstock.engine.sinks.json_lines import batches, json_objects
from penstock.errors import SinkError

Payload = tuple[Any, Any]  # key and value, each as text, bytes or nothing


def payloads(rows: pa.Table, kind: str, key: str | None) -> Iterator[Payload]:
    """Return the record of each row; SinkError where the columns do not make one."""
    if key is not None and key not in rows.column_names:
        raise SinkError(
            f"the query gives no column {key}, which is its sink's key",
            hint=f"it gives {', '.join(rows.column_names)}",
        )
    if kind == "raw":
        return _raw(rows, key)
    lines = json_objects if kind == "json" else csv_lines
    return (
        pair
        for batch in batches(rows)
        for pair in zip(_keys(batch, key), lines(batch).to_pylist(), strict=True)
    )


def _raw(rows: pa.Table, key: str | None) -> Iterator[Payload]:
    names = [name for name in rows.column_names if name != key]
    if len(names) != 1:
        raise SinkError(
            f"format => 'raw' of kafka takes one column beside the key, not {', '.join(names)}",
            hint="select that column alone, or give another format",
        )
    for batch in rows.combine_chunks().to_batches():
        yield from zip(_keys(batch, key), _plain(batch[names[0]]), strict=True)


def _keys(batch: pa.RecordBatch, key: str | None) -> list[Any]:
    return [None] * batch.num_rows if key is None else _plain(batch[key])


def _plain(column: pa.Array) -> list[Any]:
    """Return bytes as they are and everything else as its text."""
    kind = column.type
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return list((column if is_bytes else cell_text(column)).to_pylist())
