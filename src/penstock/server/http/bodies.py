"""Pushed rows as they come over the wire: JSON, lines of JSON, CSV and Arrow."""

import base64
import binascii
import io
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
from pyarrow import types

from penstock.engine.interfaces.rows import named
from penstock.errors import BadRequestError, BadRowError, TooLargeError, quoted_value
from penstock.server.http.answers import ARROW, CSV, JSON, NDJSON
from penstock.server.http.requests import read_json

Rows: TypeAlias = "pa.Table | Sequence[Mapping[str, Any]]"
ARROW_FILE = "application/vnd.apache.arrow.file"
LINES = (NDJSON, "application/jsonl", "application/x-jsonlines", "application/jsonlines")
GZIP = zlib.MAX_WBITS | 16
VIEW_BYTES = 16  # of Arrow's views: a length, and where the bytes are
TRUTHS = {"true": True, "false": False}
# What JSON has no number for, as our own answers write it.
NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


def unpacked(body: bytes, encoding: str, most: int) -> bytes:
    """Return a body as it was before it was packed; TooLargeError where that is larger."""
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise BadRequestError(
            f"the body is packed by {quoted_value(encoding)}", hint="send it by gzip, or as it is"
        )
    unpacking = zlib.decompressobj(GZIP)
    try:
        data = unpacking.decompress(body, most + 1)
    except zlib.error as error:
        raise BadRequestError(f"the body is no gzip: {error}") from None
    if len(data) > most:
        raise TooLargeError(
            f"the body is larger than {most:,} bytes when it is unpacked",
            hint="send it in parts; limits.body of the configuration allows more",
        )
    if not unpacking.eof:
        raise BadRequestError("the body is cut off: its gzip has no end")
    return data


def rows_of(body: bytes, kind: str, schema: pa.Schema, most: int) -> Rows:
    """Return the rows of a body of some type, for a stream with these columns."""
    if kind in LINES:
        return _prepared(_json_lines(body, schema), schema)
    if kind == JSON:
        return _prepared(_json_rows(body, schema), schema)
    if kind == CSV:
        return _csv(body, schema)
    if kind in (ARROW, ARROW_FILE):
        return _arrow(body, kind, most)
    raise BadRequestError(
        f"rows cannot come as {kind or 'nothing that is named'}",
        hint=f"send Content-Type: {JSON}, {NDJSON}, {CSV} or {ARROW}",
    )


# -- JSON ----------------------------------------------------------------------------------------


def _json_rows(body: bytes, schema: pa.Schema) -> list[Any]:
    held = read_json(body, **_reading(schema))
    if isinstance(held, dict):
        return [held]
    if not isinstance(held, list):
        raise BadRequestError(
            "the body holds no rows", hint='send [{"id": 1}, {"id": 2}], or one object'
        )
    return held


def _json_lines(body: bytes, schema: pa.Schema) -> list[Any]:
    reading, rows = _reading(schema), []
    for number, line in enumerate(body.split(b"\n"), 1):
        if line.strip():
            try:
                rows.append(read_json(line, **reading))
            except BadRequestError as error:
                raise BadRequestError(f"line {number}: {error.message}") from None
    return rows


def _reading(schema: pa.Schema) -> dict[str, Any]:
    """Return how JSON is read: numbers exactly, where a column keeps them so."""
    return {"parse_float": Decimal} if any(types.is_decimal(f.type) for f in schema) else {}


def _prepared(rows: list[Any], schema: pa.Schema) -> list[Any]:
    """Return the rows with what JSON writes as text as what it stands for."""
    readers = {field.name.lower(): _reader(field.type) for field in schema}
    wanted = {name: reader for name, reader in readers.items() if reader is not None}
    if not wanted:
        return rows
    return [_read(at, row, wanted) if isinstance(row, dict) else row for at, row in enumerate(rows)]


def _reader(kind: pa.DataType) -> Callable[[str], Any] | None:
    if types.is_binary(kind) or types.is_large_binary(kind):
        return _from_base64
    return _from_no_number if types.is_floating(kind) else None


def _read(
    at: int, row: dict[str, Any], readers: Mapping[str, Callable[[str], Any]]
) -> dict[str, Any]:
    made = dict(row)
    for key, value in row.items():
        if isinstance(value, str) and (reader := readers.get(key.lower())) is not None:
            try:
                made[key] = reader(value)
            except ValueError:
                raise BadRowError(
                    f"row {at}, column {key}: {quoted_value(value)} does not fit",
                    hint=f"binary values are base64; doubles are numbers, {', '.join(NO_NUMBERS)}",
                ) from None
    return made


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(text) from error


def _from_no_number(text: str) -> float:
    if text not in NO_NUMBERS:
        raise ValueError(text)
    return float(text)


# -- CSV -----------------------------------------------------------------------------------------


def _csv(body: bytes, schema: pa.Schema) -> pa.Table:
    """Return the rows of CSV: names in the first line, empty fields are null, `""` is empty."""
    names = _header(body)
    if not names:
        return schema.empty_table()
    meant = named(names, schema)
    texts = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        null_values=[""],
    )
    parsing = pa_csv.ParseOptions(newlines_in_values=True)
    reading = pa_csv.ReadOptions(block_size=max(1 << 20, 2 * len(body)))
    try:
        table = pa_csv.read_csv(io.BytesIO(body), reading, parsing, texts)
    except pa.ArrowException as error:
        raise BadRequestError(f"the body is no CSV: {error}") from None
    columns = {name: _column(table[name], schema.field(meant[name])) for name in names}
    return pa.table(columns)


def _header(body: bytes) -> list[str]:
    """Return the names in the first line."""
    try:
        with pa_csv.open_csv(
            io.BytesIO(body), pa_csv.ReadOptions(block_size=max(1 << 20, 2 * len(body)))
        ) as reader:
            return list(reader.schema.names)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        if not body.strip():
            return []
        raise BadRequestError(f"the body is no CSV: {error}") from None


def _column(texts: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    """Return a column of texts as the values of a field, or raise with the first that misfits."""
    kind = field.type
    if types.is_string(kind) or types.is_large_string(kind):
        return texts
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        try:
            return texts.cast(kind)
        except pa.ArrowException:
            pass  # found again below, with its row
    return pa.array(_values(texts, field), None if types.is_temporal(kind) else kind)


def _values(texts: pa.ChunkedArray, field: pa.Field) -> list[Any]:
    read, found = _value_reader(field.type), []
    for at, text in enumerate(texts.to_pylist()):
        try:
            found.append(None if text is None else read(text))
        except (ValueError, ArithmeticError, KeyError, RecursionError, pa.ArrowException):
            raise BadRowError(
                f"row {at}, column {field.name}: {quoted_value(text)} does not fit {field.type}"
            ) from None
    return found


def _value_reader(kind: pa.DataType) -> Callable[[str], Any]:
    """Return what reads one value; times stay text, which `push` reads as it reads JSON's."""
    if types.is_boolean(kind):
        return lambda text: TRUTHS[text.lower()]
    if types.is_binary(kind) or types.is_large_binary(kind):
        return _from_base64
    if types.is_temporal(kind):
        return str
    if types.is_nested(kind):
        return json.loads
    return lambda text: pa.scalar(text).cast(kind).as_py()


# -- Arrow ---------------------------------------------------------------------------------------


def _arrow(body: bytes, kind: str, most: int) -> pa.Table:
    """Return the rows of Arrow's IPC; what is not valid would be read beyond its end."""
    opening = pa.ipc.open_stream if kind == ARROW else pa.ipc.open_file
    try:
        with opening(pa.BufferReader(body)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadRequestError(f"the body is no Arrow IPC: {error}") from None
    size = sum(_plain_bytes(chunk) for column in table.columns for chunk in column.chunks)
    if size > most:
        raise TooLargeError(
            f"the rows take {size:,} bytes, and a request {most:,}",
            hint="send them in parts; limits.body of the configuration allows more",
        )
    return table


def _plain_bytes(array: pa.Array) -> int:
    """Return the bytes of an array's values where none shares them with others.

    A dictionary, and views, name one long value as often as they like.
    """
    kind = array.type
    if types.is_dictionary(kind) and _is_text(kind.value_type):
        lengths = pc.binary_length(array.dictionary).take(array.indices).cast(pa.int64())
        return int(array.nbytes) + int(pc.sum(lengths).as_py() or 0)
    if types.is_dictionary(kind) and types.is_primitive(kind.value_type):
        return int(array.nbytes) + len(array) * 8
    if types.is_string_view(kind) or types.is_binary_view(kind):
        views = np.frombuffer(array.buffers()[1], np.int32)[:: VIEW_BYTES // 4]  # their lengths
        lengths = views[array.offset : array.offset + len(array)]
        return int(lengths.sum(dtype=np.int64)) + VIEW_BYTES * len(array)
    if types.is_struct(kind):
        return sum(map(_plain_bytes, array.flatten()))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return int(array.nbytes) - int(array.values.nbytes) + _plain_bytes(array.values)
    if types.is_map(kind):
        return _plain_bytes(array.keys) + _plain_bytes(array.items)
    if types.is_nested(kind) or types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        raise BadRequestError(f"rows cannot come as {kind}", hint="send plain arrays")
    return int(array.nbytes)


def _is_text(kind: pa.DataType) -> bool:
    texts = types.is_string(kind) or types.is_large_string(kind)
    return bool(texts or types.is_binary(kind) or types.is_large_binary(kind))
