"""Spark's names of types in Arrow's words, for columns that functions carry along."""

import re
from collections.abc import Iterator
from functools import lru_cache

import pyarrow as pa

from penstock.errors import TypeMismatchError

SIMPLE: dict[str, pa.DataType] = {
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ltz": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "date": pa.date32(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "void": pa.null(),
}
TEXT = re.compile(r"(?:var)?char\(\d+\)", re.IGNORECASE)
DECIMAL = re.compile(r"(?:decimal|dec|numeric)(?:\((\d+)(?:,(-?\d+))?\))?", re.IGNORECASE)
NESTED = re.compile(r"(array|map|struct)<(.*)>", re.IGNORECASE)


@lru_cache(maxsize=1024)
def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type of a Spark type, such as `array<decimal(10,2)>`."""
    told = re.sub(r"\s*([<>(),:])\s*", r"\1", text.strip())
    if told.lower() in SIMPLE:
        return SIMPLE[told.lower()]
    if TEXT.fullmatch(told):
        return pa.string()
    if decimal := DECIMAL.fullmatch(told):
        return pa.decimal128(int(decimal[1] or 10), int(decimal[2] or 0))
    nested = NESTED.fullmatch(told)
    if nested is None:
        raise TypeMismatchError(
            f"an item cannot have a column of type {text}", hint="such as DOUBLE or FLOAT VECTOR"
        )
    parts = list(_parts(nested[2]))
    if nested[1].lower() == "array" and len(parts) == 1:
        return pa.list_(arrow_type(parts[0]))
    if nested[1].lower() == "map":
        key, value = parts
        return pa.map_(arrow_type(key), arrow_type(value))
    fields = [re.split(r"[: ]", part, maxsplit=1) for part in parts]
    return pa.struct([(name, arrow_type(kind)) for name, kind in fields])


def is_order(kind: pa.DataType) -> bool:
    """Whether items can be ordered by a column of that type."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_integer(kind))


def _parts(text: str) -> Iterator[str]:
    """Cut at the commas that stand in no brackets."""
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            yield text[start:place]
            start = place + 1
    yield text[start:]
