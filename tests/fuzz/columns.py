"""Columns of every type, with nulls and extreme values, and literals to compare them with."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

BEGIN = datetime(2026, 3, 1, 11, 58, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NULLS = 0.12  # the share of values that are missing


@dataclass(frozen=True)
class Field:
    """A column: `family` says what it can be used for, `calm` whether arithmetic is safe."""

    name: str
    type: str
    family: str
    calm: bool


INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
TEXTS = (
    "a",
    "ab",
    "b",
    "B",
    "",
    " ",
    "ü",
    "x y",
    "it's",
    'q"q',
    "a\\b",
    "line\nbreak",
    "NULL",
    "%_",
)
DECIMALS = ("DECIMAL(10,2)", "DECIMAL(38,0)", "DECIMAL(6,6)")
FAMILIES = {
    **dict.fromkeys(INTEGERS, "int"),
    **dict.fromkeys(DECIMALS, "decimal"),
    "DOUBLE": "float",
    "FLOAT": "float",
    "STRING": "text",
    "BOOLEAN": "flag",
    "TIMESTAMP": "time",
    "TIMESTAMP_NTZ": "ntz",
    "DATE": "date",
    "BINARY": "binary",
    "INTERVAL DAY TO SECOND": "span",
    "ARRAY<INT>": "list",
}
WEIGHTS = {"INT": 5, "BIGINT": 3, "STRING": 5, "DOUBLE": 3, "BOOLEAN": 2}
ORDERED = ("int", "decimal", "float", "text", "flag", "time", "ntz", "date", "binary", "span")
NUMBERS = ("int", "decimal", "float")


def draw_field(chance: random.Random, name: str) -> Field:
    """Return a column of some type."""
    types = list(FAMILIES)
    type_ = chance.choices(types, [WEIGHTS.get(each, 1) for each in types])[0]
    return Field(name, type_, FAMILIES[type_], chance.random() < 0.7)


def draw_value(chance: random.Random, field: Field) -> Any:
    """Return a value of the column, or None."""
    if chance.random() < NULLS:
        return None
    return _known(chance, field)


def _known(chance: random.Random, field: Field) -> Any:
    if not field.calm and chance.random() < 0.5 and (extremes := _extremes(field)):
        return chance.choice(extremes)
    match field.family:
        case "int":
            return chance.randrange(-50, 51)
        case "decimal":
            return Decimal(chance.randrange(-9_999, 10_000)).scaleb(-digits(field.type)[1])
        case "float":  # sixty-fourths: sums of them are exact in whatever order they are added
            return chance.randrange(-640, 641) / 64
        case "text":
            return chance.choice(TEXTS)
        case "flag":
            return chance.random() < 0.5
        case "time":
            return BEGIN + timedelta(seconds=chance.randrange(-60, 60))
        case "ntz":
            return (BEGIN + timedelta(seconds=chance.randrange(-60, 60))).replace(tzinfo=None)
        case "date":
            return date(2026, 2, 27) + timedelta(days=chance.randrange(4))
        case "binary":
            return chance.choice((b"", b"\x00", b"a", b"\xff\xfe", b"ab"))
        case "span":
            return timedelta(seconds=chance.randrange(-5, 6), microseconds=chance.randrange(2))
        case _:
            return [chance.choice((None, 1, 2, -3)) for _ in range(chance.randrange(4))]


def _extremes(field: Field) -> Sequence[Any]:
    match field.family:
        case "int":
            top = 1 << (INTEGERS[field.type] - 1)
            return (top - 1, -top, top - 2)
        case "decimal":
            precision, scale = digits(field.type)
            most = f"{'9' * precision}E-{scale}"  # arithmetic would round it
            return (Decimal(most), Decimal(f"-{most}"))
        case "float":
            largest = 1.7976931348623157e308 if field.type == "DOUBLE" else 3.4028234663852886e38
            return (math.nan, math.inf, -math.inf, -0.0, largest, -largest)
        case "time":
            return (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))
        case "ntz":
            return (datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59))  # noqa: DTZ001
        case "date":
            return (date(1, 1, 1), date(9999, 12, 31))
        case _:
            return ()


def digits(decimal: str) -> tuple[int, int]:
    """Return the precision and the scale of a DECIMAL type."""
    precision, scale = decimal.removeprefix("DECIMAL(").removesuffix(")").split(",")
    return int(precision), int(scale)


def sum_type(field: Field) -> str:
    """Return the type of a sum of the column's numbers, as Spark has it."""
    if field.family != "decimal":
        return "BIGINT" if field.family == "int" else "DOUBLE"
    precision, scale = digits(field.type)
    return f"DECIMAL({min(38, precision + 10)},{scale})"


def draw_literal(chance: random.Random, field: Field) -> str:
    """Return SQL text of a value that the column may have."""
    return literal(_known(chance, field), field)


def literal(value: Any, field: Field) -> str:
    """Return SQL text of a value."""
    return _WRITERS[field.family](value, field)


def _float(value: float, field: Field) -> str:
    if math.isfinite(value):
        return f"{value!r}D" if "e" not in repr(value) else f"CAST('{value!r}' AS {field.type})"
    return f"CAST('{value}' AS {field.type})"


def _integer(value: int, _: Field) -> str:
    return f"({value + 1} - 1)" if value == -(1 << 63) else str(value)


def _text(value: str, _: Field) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def _span(value: timedelta, _: Field) -> str:
    return f"make_dt_interval(0, 0, 0, {value.total_seconds():.6f})"


_WRITERS: dict[str, Callable[[Any, Field], str]] = {
    "int": _integer,
    "decimal": lambda value, field: f"CAST('{value:f}' AS {field.type})",
    "float": _float,
    "text": _text,
    "flag": lambda value, _: str(value).upper(),
    "time": lambda value, _: f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S}'".replace("'1-", "'0001-"),
    "ntz": lambda value, _: f"TIMESTAMP_NTZ '{value:%Y-%m-%d %H:%M:%S}'".replace("'1-", "'0001-"),
    "date": lambda value, _: f"DATE '{value.isoformat()}'",
    "binary": lambda value, _: f"X'{value.hex()}'",
    "span": _span,
    "list": lambda *_: "array(1)",
}
