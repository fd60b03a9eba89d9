"""Values of parameters: read from either format, and written as literals of SQL.

Nothing of a value reaches a statement as it came: it is read as its type, and written anew.
"""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

from penstock.errors import WireError, quoted_value
from penstock.model.schema import literal
from penstock.server.pg.sqlstate import BAD_VALUE, refused
from penstock.server.pg.values import types
from penstock.server.pg.values.encode import BINARY, EPOCH, FIRST_DAY, GROUP, NEGATIVE
from penstock.server.pg.values.types import TYPES, PgType
from penstock.server.pg.wire.layout import INT32, Cursor

BOOLS = {"t": True, "true": True, "y": True, "yes": True, "on": True, "1": True}
BOOLS |= {"f": False, "false": False, "n": False, "no": False, "off": False, "0": False}
WHOLE = {types.INT2: 15, types.INT4: 31, types.INT8: 63}  # bits besides the sign's
MOST_DIGITS = 38  # of a DECIMAL of Spark's
MOST_EXACT = 1000  # digits that a numeric in bytes is read with, before it is judged
TEXTS = (types.TEXT, types.VARCHAR, types.BPCHAR, types.NAME, types.CHAR, types.UNKNOWN)

UNREADABLE = (ValueError, KeyError, struct.error, ArithmeticError, RecursionError, WireError)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value and its type; `value` is None for NULL."""

    type: PgType
    value: Any


def read_parameter(oid: int, form: int, data: bytes | None) -> Parameter:
    """Return the value that a client has sent; an unknown type is that of a text in quotes."""
    type_ = TYPES.get(oid, types.UNKNOWN if oid == 0 else None)
    if type_ is None:
        raise refused(
            BAD_VALUE,
            f"a parameter has the type {oid}",
            hint="send it as text, and CAST it in the statement",
        )
    if data is None:
        return Parameter(type_, None)
    read = _binary if form == BINARY else _text
    try:
        return Parameter(type_, read(type_, data))
    except UNREADABLE as error:
        what = quoted_value(data.decode(errors="replace") if form != BINARY else data)
        raise refused(BAD_VALUE, f"{what} is not a value of type {type_.sql}") from error


def spark_literal(parameter: Parameter) -> str:
    """Return a parameter as Spark's SQL writes it."""
    return _spark(parameter.type, parameter.value)


def postgres_literal(parameter: Parameter) -> str:
    """Return a parameter as PostgreSQL writes it, for questions about the catalog."""
    match parameter.value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if parameter.value else "FALSE"
        case int() | Decimal():
            return f"({parameter.value})"
        case list():
            element = parameter.type.element or types.TEXT
            each = (postgres_literal(Parameter(element, value)) for value in parameter.value)
            return f"ARRAY[{', '.join(each)}]"
        case _:
            return postgres_text(str(parameter.value))


def postgres_text(text: str) -> str:
    """Return a text as PostgreSQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _spark(type_: PgType, value: Any) -> str:
    if value is None:
        return "NULL" if type_ is types.UNKNOWN else f"CAST(NULL AS {spark_type(type_)})"
    if type_.element is not None:
        return f"array({', '.join(_spark(type_.element, each) for each in value)})"
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value) if value >= 0 else f"({value})"
        case float():
            return f"CAST({literal(_float_text(value))} AS {spark_type(type_)})"
        case Decimal():
            kind = _decimal(value)  # first: 1e999999999 would be written with all its zeros
            return f"CAST('{value:f}' AS {kind})"
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            kind = "TIMESTAMP" if type_ is types.TIMESTAMPTZ else "TIMESTAMP_NTZ"
            return f"{kind} '{value.isoformat(' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case timedelta():
            return f"(INTERVAL '{value // timedelta(microseconds=1) / 1e6:.6f}' SECOND)"
        case _:
            return literal(str(value))


SPARK_NAMES = {
    types.BOOL: "BOOLEAN",
    types.INT2: "SMALLINT",
    types.INT4: "INT",
    types.INT8: "BIGINT",
    types.OID: "BIGINT",
    types.FLOAT4: "FLOAT",
    types.FLOAT8: "DOUBLE",
    types.NUMERIC: "DECIMAL(38, 18)",
    types.BYTEA: "BINARY",
    types.DATE: "DATE",
    types.TIMESTAMP: "TIMESTAMP_NTZ",
    types.TIMESTAMPTZ: "TIMESTAMP",
}


def spark_type(type_: PgType) -> str:
    """Return the type that Spark has for one of PostgreSQL's; STRING for what is told as text."""
    if type_.element is not None:
        return f"ARRAY<{spark_type(type_.element)}>"
    return SPARK_NAMES.get(type_, "STRING")


def _float_text(value: float) -> str:
    return {float("inf"): "Infinity", float("-inf"): "-Infinity"}.get(value, repr(value))


def _decimal(value: Decimal) -> str:
    exponent = value.as_tuple().exponent
    scale = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    whole = max(1, value.adjusted() + 1)
    if whole + scale > MOST_DIGITS:
        raise refused(BAD_VALUE, f"{value} has more than {MOST_DIGITS} digits", hint="round it")
    return f"DECIMAL({whole + scale}, {scale})"


def _text(type_: PgType, data: bytes) -> Any:
    text = data.decode()
    if type_.element is not None:
        return [
            None if each is None else _text(type_.element, each.encode())
            for each in array_elements(text)
        ]
    return text if type_ in TEXTS else READ_TEXT.get(type_, str)(text)


def _binary(type_: PgType, data: bytes) -> Any:
    if type_.element is not None:
        return _binary_array(Cursor(data))
    return data.decode() if type_ in TEXTS else READ_BINARY[type_](data)


def _whole(bits: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text)
        if not -(1 << bits) <= value < 1 << bits:
            raise ValueError(text)
        return value

    return read


def _number(text: str) -> Decimal:
    value = Decimal(text.strip())
    if not value.is_finite():
        raise ValueError(text)
    return value


def _truth(text: str) -> bool:
    found = BOOLS.get(text.strip().lower())
    if found is None:
        raise ValueError(text)
    return found


def _bytes(text: str) -> bytes:
    if not text.startswith("\\x"):
        raise ValueError(text)
    return bytes.fromhex(text[2:])


def _aware(text: str) -> datetime:
    read = datetime.fromisoformat(text.strip())
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)


def _naive(text: str) -> datetime:
    return datetime.fromisoformat(text.strip()).replace(tzinfo=None)


def _json(text: str) -> str:
    json.loads(text)
    return text


READ_TEXT: dict[PgType, Callable[[str], Any]] = {
    **{type_: _whole(bits) for type_, bits in WHOLE.items()},
    types.OID: _whole(32),
    types.BOOL: _truth,
    types.FLOAT4: float,
    types.FLOAT8: float,
    types.NUMERIC: _number,
    types.BYTEA: _bytes,
    types.DATE: date.fromisoformat,
    types.TIME: lambda text: time.fromisoformat(text).isoformat(),
    types.TIMESTAMP: _naive,
    types.TIMESTAMPTZ: _aware,
    types.JSON: _json,
    types.JSONB: _json,
    types.UUID: lambda text: str(UUID(text)),
}


def _unpacked(form: str) -> Callable[[bytes], Any]:
    return lambda data: struct.unpack(form, data)[0]


def _binary_number(data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack_from("!hhHh", data)
    if sign not in (0, NEGATIVE):
        raise ValueError(data)
    groups = struct.unpack_from(f"!{count}h", data, 8)
    whole = 0
    for group in groups:
        whole = whole * GROUP + group
    exact = Context(prec=MOST_EXACT)
    value = exact.scaleb(Decimal(-whole if sign else whole), 4 * (weight - count + 1))
    return exact.quantize(value, Decimal((0, (1,), -scale)))


def _moment(data: bytes) -> datetime:
    return EPOCH + timedelta(microseconds=_unpacked("!q")(data))


def _interval(data: bytes) -> timedelta:
    microseconds, days, months = struct.unpack("!qii", data)
    if months:
        raise ValueError(data)
    return timedelta(days=days, microseconds=microseconds)


def _clock(data: bytes) -> str:
    return (EPOCH + timedelta(microseconds=_unpacked("!q")(data))).time().isoformat()


def _jsonb(data: bytes) -> str:
    return _json(data[1:].decode())  # after its version


READ_BINARY: dict[PgType, Callable[[bytes], Any]] = {
    types.BOOL: _unpacked("!?"),
    types.INT2: _unpacked("!h"),
    types.INT4: _unpacked("!i"),
    types.INT8: _unpacked("!q"),
    types.OID: _unpacked("!I"),
    types.REGCLASS: _unpacked("!I"),
    types.REGPROC: _unpacked("!I"),
    types.FLOAT4: _unpacked("!f"),
    types.FLOAT8: _unpacked("!d"),
    types.NUMERIC: _binary_number,
    types.BYTEA: bytes,
    types.DATE: lambda data: FIRST_DAY + timedelta(days=_unpacked("!i")(data)),
    types.TIME: _clock,
    types.TIMESTAMP: lambda data: _moment(data).replace(tzinfo=None),
    types.TIMESTAMPTZ: _moment,
    types.INTERVAL: _interval,
    types.JSON: lambda data: _json(data.decode()),
    types.JSONB: _jsonb,
    types.UUID: lambda data: str(UUID(bytes=data)),
}


def _binary_array(cursor: Cursor) -> list[Any]:
    dimensions, _, oid = INT32.read(cursor), INT32.read(cursor), INT32.read(cursor)
    if dimensions == 0:
        return []
    count, _ = INT32.read(cursor), INT32.read(cursor)
    element = TYPES.get(oid)
    if dimensions != 1 or element is None:
        raise ValueError(dimensions)
    found: list[Any] = []
    for _ in range(count):
        size = INT32.read(cursor)
        found.append(None if size == -1 else _binary(element, cursor.take(size)))
    return found


def array_elements(text: str) -> list[str | None]:
    """Return the elements of an array of one dimension as it is written: `{1,"a b",NULL}`."""
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError(text)
    found: list[str | None] = []
    at, end = 1, len(text) - 1
    while at < end:
        quoted = text[at] == '"'
        value, at = _quoted_element(text, at + 1) if quoted else _bare_element(text, at, end)
        found.append(None if not quoted and value.upper() == "NULL" else value)
        if at < end and text[at] != ",":
            raise ValueError(text)
        at += 1
    return found


def _quoted_element(text: str, at: int) -> tuple[str, int]:
    taken = []
    while text[at] != '"':
        at += text[at] == "\\"
        taken.append(text[at])
        at += 1
        if at >= len(text):
            raise ValueError(text)
    return "".join(taken), at + 1


def _bare_element(text: str, at: int, end: int) -> tuple[str, int]:
    comma = text.find(",", at, end)
    stop = end if comma < 0 else comma
    value = text[at:stop].strip()
    if not value or "{" in value:
        raise ValueError(text)
    return value, stop
