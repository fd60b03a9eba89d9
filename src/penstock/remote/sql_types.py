"""SQL's types as Arrow's, without Spark, and JSON's values as values of these types."""

import base64
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

Read = Callable[[Any], Any]

PLAIN = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}
DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
NESTED = re.compile(r"(array|map|struct)<(.*)>", re.DOTALL)
INTERVAL = re.compile(r"interval (day|hour|minute|second)\b.*")
SECONDS = re.compile(r"PT(-?[\d.]+)S")


def arrow_type(word: str) -> pa.DataType | None:
    """Return the Arrow type of one of SQL's, None where there is none, as of vectors."""
    text = word.strip()
    if (plain := PLAIN.get(text.lower())) is not None:
        return plain
    if found := DECIMAL.fullmatch(text.lower()):
        return pa.decimal128(int(found[1]), int(found[2]))
    if INTERVAL.fullmatch(text.lower()):
        return pa.duration("us")
    if found := re.match(NESTED.pattern + "$", text, re.DOTALL | re.IGNORECASE):
        return _nested(found[1].lower(), _parts(found[2]))
    return None


def reader(kind: pa.DataType | None) -> Read | None:
    """Return what makes a value of a type of JSON's, None where that is the value itself."""
    if kind is None or _is_natural(kind):
        return None
    return _or_none(_reader(kind))


def has_decimals(kinds: Sequence[pa.DataType | None]) -> bool:
    """Say whether numbers must be read exactly for some of the types."""
    return any("decimal" in str(kind) for kind in kinds)


def _nested(kind: str, parts: list[str]) -> pa.DataType | None:
    if kind == "struct":
        fields = [_field(each) for each in parts]
        return None if any(field is None for field in fields) else pa.struct(fields)
    inner = [arrow_type(each) for each in parts]
    if any(each is None for each in inner) or len(inner) != (1 if kind == "array" else 2):
        return None
    return pa.list_(inner[0]) if kind == "array" else pa.map_(*inner)


def _field(text: str) -> pa.Field | None:
    name, _, word = text.partition(":")
    kind = arrow_type(word)
    return None if kind is None else pa.field(name.strip(" `"), kind)


def _parts(text: str) -> list[str]:
    """Return the parts between the commas that are in no brackets."""
    found, depth, begin = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            found.append(text[begin:at])
            begin = at + 1
    return [*found, text[begin:]] if text.strip() else []


def _is_natural(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_string(kind)
        or types.is_null(kind)
        or (types.is_list(kind) and _is_natural(kind.value_type))
    )


def _or_none(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _same(value: Any) -> Any:
    return value


def _reader(kind: pa.DataType) -> Read:
    types = pa.types
    if types.is_float32(kind):
        return lambda value: float(np.float32(value))  # its text is the shortest of this width
    if types.is_floating(kind):
        return float  # of a number, or of NaN and the infinities as text
    if types.is_decimal(kind):
        return Decimal
    if types.is_timestamp(kind):
        return datetime.fromisoformat
    if types.is_date(kind):
        return date.fromisoformat
    if types.is_binary(kind):
        return base64.b64decode
    if types.is_duration(kind):
        return _duration
    if types.is_list(kind):
        item = reader(kind.value_type) or _same
        return lambda value: [item(each) for each in value]
    if types.is_map(kind):
        key, item = _key_reader(kind.key_type), reader(kind.item_type) or _same
        return lambda value: [(key(name), item(each)) for name, each in value.items()]
    if types.is_struct(kind):
        fields = {field.name: reader(field.type) or _same for field in kind}
        return lambda value: {name: fields[name](each) for name, each in value.items()}
    return _same


def _key_reader(kind: pa.DataType) -> Read:
    """Return what reads the key of a map, which JSON has as text."""
    if pa.types.is_boolean(kind):
        return lambda text: text == "true"
    if pa.types.is_integer(kind):
        return int
    return reader(kind) or _same


def _duration(text: str) -> timedelta:
    found = SECONDS.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return timedelta(microseconds=int(Decimal(found[1]) * 1_000_000))
