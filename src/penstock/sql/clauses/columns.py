"""Columns and their types, as Spark's DDL writes them."""

from penstock.errors import NameTakenError, TypeMismatchError
from penstock.model.functions.vectors import ELEMENTS, VECTOR, vector_type
from penstock.model.schema import Column, Schema, quoted
from penstock.sql.dialect.reader import TokenReader
from penstock.sql.dialect.refusals import near_miss

PLAIN = (
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "variant",
    "void",
)
SYNONYMS = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "timestamp_ltz": "timestamp",
    "dec": "decimal",
    "numeric": "decimal",
    "character": "char",
}
OTHERS = ("decimal", "char", "varchar", "time", "interval", "array", "map", "struct")
INTERVAL_UNITS = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
# Spark's own bounds.
MAX_PRECISION = 38
MAX_TIME_PRECISION = 6
MAX_LENGTH = 2**31 - 1


def read_schema(reader: TokenReader) -> Schema:
    """Read columns in parentheses."""
    reader.expect("(", hint="columns stand in parentheses: (ts TIMESTAMP, mph INT)")
    columns = _fields(reader, ")")
    return Schema(tuple(columns))


def read_type(reader: TokenReader) -> str:
    """Read a type, and return Spark's own text of it."""
    token = reader.token
    written = reader.word("a type")
    name = SYNONYMS.get(written.lower(), written.lower())
    with reader.placed(token):
        if name in PLAIN:
            return name
        if name in OTHERS:
            return _composed(reader, name)
        known = [*PLAIN, *SYNONYMS, *OTHERS]
        raise TypeMismatchError(f"no type is called {written}", hint=near_miss(written, known))


def _fields(reader: TokenReader, closing: str) -> list[Column]:
    """Read names with their types, up to and with the closing mark."""
    fields: list[Column] = []
    while True:
        token = reader.token
        name = reader.name("a column's name")
        if any(name.lower() == field.name.lower() for field in fields):
            with reader.placed(token):
                raise NameTakenError(f"column {name} is there already", hint="rename one of them")
        if closing == ">":
            reader.accept(":")
        fields.append(Column(name, _column_type(reader, closing)))
        if not reader.accept(","):
            break
    reader.expect(closing, hint="a column is a name and a type, and commas stand between columns")
    return fields


def _column_type(reader: TokenReader, closing: str) -> str:
    """Read a type; a column that is no field of another may hold vectors."""
    token = reader.token
    words = {each: (*each.upper().split(), VECTOR.upper()) for each in ELEMENTS}
    element = next((each for each in ELEMENTS if reader.sees(*words[each])), None)
    if element is None:
        if reader.sees("COMPLEX"):
            with reader.placed(token):
                raise TypeMismatchError("no type is called complex", hint="COMPLEX VECTOR")
        return read_type(reader)
    with reader.placed(token):
        if closing != ")":
            raise TypeMismatchError("a vector is a column of its own, no field of another")
    reader.expect(*words[element])
    return vector_type(element)


def _composed(reader: TokenReader, name: str) -> str:
    match name:
        case "array":
            reader.expect("<")
            inner = read_type(reader)
        case "map":
            reader.expect("<")
            key = read_type(reader)
            reader.expect(",")
            inner = f"{key},{read_type(reader)}"
        case "struct" if reader.accept("<>"):
            return "struct<>"
        case "struct":
            reader.expect("<")
            fields = _fields(reader, ">")
            return f"struct<{','.join(f'{_plain(one.name)}:{one.type}' for one in fields)}>"
        case "interval":
            return _interval(reader)
        case _:
            return _sized(reader, name)
    reader.expect(">")
    return f"{name}<{inner}>"


def _sized(reader: TokenReader, name: str) -> str:
    """Return decimal(p,s), char(n), varchar(n) or time(p)."""
    sizes = [_size(reader)] if reader.accept("(") else []
    if name == "decimal" and sizes and reader.accept(","):
        sizes.append(_size(reader))
    if sizes:
        reader.expect(")")
    match name, sizes:
        case "decimal", []:
            return "decimal(10,0)"
        case "decimal", [precision, *rest] if 0 < precision <= MAX_PRECISION:
            scale = rest[0] if rest else 0
            if scale <= precision:
                return f"decimal({precision},{scale})"
        case "time", []:
            return f"time({MAX_TIME_PRECISION})"
        case "time", [precision] if precision <= MAX_TIME_PRECISION:
            return f"time({precision})"
        case "char" | "varchar", [length] if 0 < length <= MAX_LENGTH:
            return f"{name}({length})"
    written = f"{name}({', '.join(map(str, sizes))})" if sizes else name
    raise TypeMismatchError(
        f"{written} is no type",
        hint=f"DECIMAL(p, s) has p from 1 to {MAX_PRECISION} and s up to p; CHAR(n), VARCHAR(n)",
    )


def _size(reader: TokenReader) -> int:
    number = reader.number()
    if number is None or not number.isdecimal() or len(number) > len(str(MAX_LENGTH)):
        reader.miss("a whole number")
    return int(number)


def _interval(reader: TokenReader) -> str:
    """Return `interval day to second`, or `interval`."""
    first = next((unit for unit in INTERVAL_UNITS if reader.accept(unit)), None)
    if first is None:
        return "interval"
    if not reader.accept("TO"):
        return f"interval {first.lower()}"
    last = reader.choose(*INTERVAL_UNITS, what="a unit of time")
    return f"interval {first.lower()} to {last.lower()}"


def _plain(name: str) -> str:
    """Return a field's name, in backticks where Spark would not read it bare."""
    return name if name.isascii() and name.isidentifier() else quoted(name)
