"""Values of answers in PostgreSQL's two formats: as text (0) and as bytes (1)."""

import json
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.server.pg.values import types
from penstock.server.pg.values.types import Column, PgType
from penstock.server.pg.wire.layout import INT32, UINT16

BINARY = 1
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)  # PostgreSQL counts from here
FIRST_DAY = date(2000, 1, 1)
MICROSECOND = timedelta(microseconds=1)
GROUP = 10_000  # a digit of a numeric in bytes
NEGATIVE, NOT_A_NUMBER, INFINITE, MINUS_INFINITE = 0x4000, 0xC000, 0xD000, 0xF000
PLAIN_IN_ARRAY = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:+-")
Encoder = Callable[[Any], bytes]


def encoded_rows(
    rows: pa.Table, columns: Sequence[Column], formats: Sequence[int]
) -> Iterator[bytes]:
    """Yield the body of each row: how many values, then each with its length, -1 for NULL."""
    null, count = INT32.write(-1), UINT16.write(len(columns))
    encoded = [
        _encoded(rows.column(index), encoder(column.type, form))
        for index, (column, form) in enumerate(zip(columns, formats, strict=True))
    ]
    if not columns:
        yield from (count for _ in range(rows.num_rows))
    for values in zip(*encoded, strict=True):
        yield count + b"".join(
            null if value is None else INT32.write(len(value)) + value for value in values
        )


def copied_rows(rows: pa.Table, columns: Sequence[Column]) -> Iterator[list[str | None]]:
    """Yield each row's values as text."""
    values = [_encoded(rows.column(i), encoder(c.type, 0)) for i, c in enumerate(columns)]
    for row in zip(*values, strict=True):
        yield [None if value is None else value.decode() for value in row]


def encoder(type_: PgType, form: int) -> Encoder:
    """Return what encodes values of a type."""
    if type_.element is not None:
        return _binary_array(type_.element) if form == BINARY else _text_array(type_.element)
    return BINARY_OF.get(type_, _text) if form == BINARY else TEXT_OF.get(type_, _text)


def json_text(value: object) -> str:
    """Return a value of Arrow as JSON."""
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=True, default=str)


def _encoded(column: pa.ChunkedArray, encode: Encoder) -> list[bytes | None]:
    return [None if value is None else encode(value) for value in _values(column)]


def _values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_duration(column.type):
        column = column.cast(pa.duration("us"))
    values: list[Any] = column.to_pylist()
    if pa.types.is_map(column.type):
        return [None if value is None else dict(value) for value in values]
    return values


def _plain(value: object) -> object:
    """Return what JSON knows: maps with texts as keys, times in ISO, bytes in base64."""
    match value:
        case Mapping():
            return {str(_plain(key)): _plain(each) for key, each in value.items()}
        case bytes():
            return b64encode(value).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value


def _text(value: object) -> bytes:
    return str(value).encode()


def _text_float(value: float) -> bytes:
    if value != value:  # noqa: PLR0124  (NaN alone is not itself)
        return b"NaN"
    if value in (float("inf"), float("-inf")):
        return b"Infinity" if value > 0 else b"-Infinity"
    return repr(value).removesuffix(".0").encode()


def _text_float4(value: float) -> bytes:
    return _text_float(value) if value != value or abs(value) == float("inf") else _shortest(value)  # noqa: PLR0124  (as above)


def _shortest(value: float) -> bytes:
    """Return the fewest digits that are this value among floats of four bytes."""
    return str(np.float32(value)).removesuffix(".0").encode()


def _text_time(value: datetime) -> bytes:
    zone = "" if value.tzinfo is None else "+00"
    aware = value if value.tzinfo is None else value.astimezone(UTC)
    fraction = f".{aware.microsecond:06}".rstrip("0").rstrip(".")
    stamp = f"{aware:%Y-%m-%d %H:%M:%S}".rjust(len("0001-01-01 00:00:00"), "0")
    return f"{stamp}{fraction}{zone}".encode()


def _text_interval(value: timedelta) -> bytes:
    total = value // MICROSECOND
    sign, (days, rest) = "-" if total < 0 else "", divmod(abs(total), 86_400_000_000)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    tail = f".{fraction:06}".rstrip("0").rstrip(".")
    return (f"{sign}{days} days " if days else "").encode() + f"{clock}{tail}".encode()


def _binary_numeric(value: Decimal) -> bytes:
    """Return a numeric's sign, weight and digits of base 10,000."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        special = NOT_A_NUMBER if value.is_nan() else MINUS_INFINITE if sign else INFINITE
        return struct.pack("!hhHh", 0, 0, special, 0)
    scale = max(0, -exponent)
    text = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole, part = (text[:-scale], text[-scale:]) if scale else (text, "")
    part = part.rjust(scale, "0")
    whole = whole.rjust(-(-len(whole) // 4) * 4, "0")
    part = part.ljust(-(-len(part) // 4) * 4, "0")
    groups = [int((whole + part)[at : at + 4]) for at in range(0, len(whole) + len(part), 4)]
    weight = len(whole) // 4 - 1
    while groups and groups[0] == 0:
        groups, weight = groups[1:], weight - 1
    while groups and groups[-1] == 0:
        groups = groups[:-1]
    head = struct.pack("!hhHh", len(groups), weight if groups else 0, NEGATIVE * sign, scale)
    return head + b"".join(struct.pack("!h", group) for group in groups)


def _binary_time(value: datetime) -> bytes:
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return struct.pack("!q", (aware - EPOCH) // MICROSECOND)


def _binary_clock(value: time) -> bytes:
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return struct.pack("!q", seconds * 1_000_000 + value.microsecond)


def _binary_interval(value: timedelta) -> bytes:
    rest = timedelta(seconds=value.seconds, microseconds=value.microseconds)
    return struct.pack("!qii", rest // MICROSECOND, value.days, 0)


def _text_array(element: PgType) -> Encoder:
    one = encoder(element, 0)

    def encode(values: Sequence[Any]) -> bytes:
        return ("{" + ",".join(_element(one, each) for each in values) + "}").encode()

    return encode


def _element(one: Encoder, value: Any) -> str:
    if value is None:
        return "NULL"
    text = one(value).decode()
    if text and set(text) <= PLAIN_IN_ARRAY and text.upper() != "NULL":
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _binary_array(element: PgType) -> Encoder:
    one = encoder(element, BINARY)

    def encode(values: Sequence[Any]) -> bytes:
        nulls = any(each is None for each in values)
        head = struct.pack("!iiI", 1 if values else 0, nulls, element.oid)
        size = struct.pack("!ii", len(values), 1) if values else b""
        parts = [INT32.write(-1) if e is None else _sized(one(e)) for e in values]
        return head + size + b"".join(parts)

    return encode


def _sized(value: bytes) -> bytes:
    return INT32.write(len(value)) + value


TEXT_OF: dict[PgType, Encoder] = {
    types.BOOL: lambda value: b"t" if value else b"f",
    types.BYTEA: lambda value: b"\\x" + value.hex().encode(),
    types.FLOAT4: _text_float4,
    types.FLOAT8: _text_float,
    types.NUMERIC: lambda value: f"{value:f}".encode(),
    types.TIMESTAMP: _text_time,
    types.TIMESTAMPTZ: _text_time,
    types.INTERVAL: _text_interval,
    types.JSON: lambda value: json_text(value).encode(),
}
BINARY_OF: dict[PgType, Encoder] = {
    types.BOOL: lambda value: b"\1" if value else b"\0",
    types.BYTEA: bytes,
    types.INT2: lambda value: struct.pack("!h", value),
    types.INT4: lambda value: struct.pack("!i", value),
    types.INT8: lambda value: struct.pack("!q", value),
    types.OID: lambda value: struct.pack("!I", value),
    types.REGPROC: lambda value: struct.pack("!I", value),
    types.FLOAT4: lambda value: struct.pack("!f", value),
    types.FLOAT8: lambda value: struct.pack("!d", value),
    types.NUMERIC: _binary_numeric,
    types.DATE: lambda value: struct.pack("!i", (value - FIRST_DAY).days),
    types.TIME: _binary_clock,
    types.TIMESTAMP: _binary_time,
    types.TIMESTAMPTZ: _binary_time,
    types.INTERVAL: _binary_interval,
    types.JSON: lambda value: json_text(value).encode(),
}
