"""Types as PostgreSQL numbers them, and which of them a type of Arrow or Spark is told as.

The numbers are those of PostgreSQL's `pg_type.dat`; clients have them built in.
"""

import re
from dataclasses import dataclass

import pyarrow as pa

NO_MODIFIER = -1
NUMERIC_HEADER = 4  # what PostgreSQL adds to the modifier of a numeric


@dataclass(frozen=True, slots=True)
class PgType:
    """A type: its number, its name in the catalog, how SQL writes it, its bytes (-1: they vary)."""

    oid: int
    name: str
    sql: str
    size: int
    category: str
    element: "PgType | None" = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an answer."""

    name: str
    type: PgType
    modifier: int = NO_MODIFIER


BOOL = PgType(16, "bool", "boolean", 1, "B")
BYTEA = PgType(17, "bytea", "bytea", -1, "U")
CHAR = PgType(18, "char", '"char"', 1, "Z")
NAME = PgType(19, "name", "name", 64, "S")
INT8 = PgType(20, "int8", "bigint", 8, "N")
INT2 = PgType(21, "int2", "smallint", 2, "N")
INT4 = PgType(23, "int4", "integer", 4, "N")
REGPROC = PgType(24, "regproc", "regproc", 4, "N")
TEXT = PgType(25, "text", "text", -1, "S")
OID = PgType(26, "oid", "oid", 4, "N")
JSON = PgType(114, "json", "json", -1, "U")
FLOAT4 = PgType(700, "float4", "real", 4, "N")
FLOAT8 = PgType(701, "float8", "double precision", 8, "N")
UNKNOWN = PgType(705, "unknown", "unknown", -2, "X")
BPCHAR = PgType(1042, "bpchar", "character", -1, "S")
VARCHAR = PgType(1043, "varchar", "character varying", -1, "S")
DATE = PgType(1082, "date", "date", 4, "D")
TIME = PgType(1083, "time", "time without time zone", 8, "D")
TIMESTAMP = PgType(1114, "timestamp", "timestamp without time zone", 8, "D")
TIMESTAMPTZ = PgType(1184, "timestamptz", "timestamp with time zone", 8, "D")
INTERVAL = PgType(1186, "interval", "interval", 16, "T")
NUMERIC = PgType(1700, "numeric", "numeric", -1, "N")
REGCLASS = PgType(2205, "regclass", "regclass", 4, "N")
UUID = PgType(2950, "uuid", "uuid", 16, "U")
JSONB = PgType(3802, "jsonb", "jsonb", -1, "U")

ARRAYS = {
    BOOL: 1000,
    BYTEA: 1001,
    CHAR: 1002,
    NAME: 1003,
    INT2: 1005,
    INT4: 1007,
    TEXT: 1009,
    BPCHAR: 1014,
    VARCHAR: 1015,
    INT8: 1016,
    FLOAT4: 1021,
    FLOAT8: 1022,
    OID: 1028,
    TIMESTAMP: 1115,
    DATE: 1182,
    TIME: 1183,
    TIMESTAMPTZ: 1185,
    INTERVAL: 1187,
    JSON: 199,
    NUMERIC: 1231,
    UUID: 2951,
    JSONB: 3807,
}
ARRAY_OF = {
    element: PgType(oid, f"_{element.name}", f"{element.sql}[]", -1, "A", element)
    for element, oid in ARRAYS.items()
}
PLAIN = (*ARRAYS, REGPROC, UNKNOWN, REGCLASS)
TYPES = {each.oid: each for each in (*PLAIN, *ARRAY_OF.values())}

PLAIN_OF_ARROW = {
    pa.bool_(): BOOL,
    pa.int8(): INT2,
    pa.int16(): INT2,
    pa.int32(): INT4,
    pa.int64(): INT8,
    pa.float32(): FLOAT4,
    pa.float64(): FLOAT8,
    pa.string(): TEXT,
    pa.large_string(): TEXT,
    pa.binary(): BYTEA,
    pa.large_binary(): BYTEA,
    pa.date32(): DATE,
    pa.null(): TEXT,
}
PLAIN_OF_SPARK = {
    "boolean": BOOL,
    "tinyint": INT2,
    "smallint": INT2,
    "int": INT4,
    "bigint": INT8,
    "float": FLOAT4,
    "double": FLOAT8,
    "string": TEXT,
    "binary": BYTEA,
    "date": DATE,
    "timestamp": TIMESTAMPTZ,
    "timestamp_ntz": TIMESTAMP,
    "void": TEXT,
}
DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
ARRAY = re.compile(r"array<(.*)>")


def column_of_arrow(field: pa.Field) -> Column:
    """Return how a column of Arrow is told."""
    if pa.types.is_decimal(field.type):
        return Column(field.name, NUMERIC, _modifier(field.type.precision, field.type.scale))
    return Column(field.name, type_of_arrow(field.type))


def type_of_arrow(type_: pa.DataType) -> PgType:
    """Return the type that values of a type of Arrow are told in: rows and maps as json."""
    if (plain := PLAIN_OF_ARROW.get(type_)) is not None:
        return plain
    if pa.types.is_decimal(type_):
        return NUMERIC
    if pa.types.is_timestamp(type_):
        return TIMESTAMP if type_.tz is None else TIMESTAMPTZ
    if pa.types.is_duration(type_):
        return INTERVAL
    if pa.types.is_time(type_):
        return TIME
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return _array_of(type_of_arrow(type_.value_type))
    if pa.types.is_struct(type_) or pa.types.is_map(type_):
        return JSON
    return TEXT


def column_of_spark(name: str, type_: str) -> Column:
    """Return how a column of Spark is told, whose type is written as Spark writes it."""
    if decimal := DECIMAL.fullmatch(type_.lower()):
        return Column(name, NUMERIC, _modifier(int(decimal[1]), int(decimal[2])))
    return Column(name, type_of_spark(type_))


def type_of_spark(type_: str) -> PgType:
    """Return the type that values of a type of Spark are told in."""
    written = type_.lower().strip()
    if written in PLAIN_OF_SPARK:
        return PLAIN_OF_SPARK[written]
    if DECIMAL.fullmatch(written):
        return NUMERIC
    if array := ARRAY.fullmatch(written):
        return _array_of(type_of_spark(array[1]))
    if written.startswith(("struct<", "map<")):
        return JSON
    if written.startswith("vector"):
        return BYTEA
    if written.startswith("interval day") or written.startswith(("interval hour", "interval min")):
        return INTERVAL
    return TEXT


def _array_of(element: PgType) -> PgType:
    """Return the array type; arrays of arrays and of rows need not be rectangular, so are json."""
    return JSON if element is JSON or element.element is not None else ARRAY_OF[element]


def _modifier(precision: int, scale: int) -> int:
    return (precision << 16 | scale) + NUMERIC_HEADER


NAMED_TYPES = {each.name: each for each in TYPES.values()}
NAMED_TYPES |= {each.sql: each for each in TYPES.values()}
NAMED_TYPES |= {f"{each.name}[]": array for each, array in ARRAY_OF.items()}
NAMED_TYPES |= {"int": INT4, "double": FLOAT8, "decimal": NUMERIC, "string": TEXT}
