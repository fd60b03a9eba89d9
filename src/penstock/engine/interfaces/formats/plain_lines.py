"""Plain lines: JSON and CSV that Arrow reads exactly as Spark does, without a job of their own.

Spark's reader is lenient in many ways (numbers as text, times in twenty forms, a line that holds
something else), Arrow's is not: where a value is not written in the one plain way, the answer is
None for all of the lines, and Spark reads them.
"""

import io
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json

from penstock.engine.arrow.kernels import MOMENTS, TYPES
from penstock.model.schema import Column, Schema

WHOLE = ("tinyint", "smallint", "int", "bigint")
OBJECT = r"^\{.*\}$"  # else one line might hold two objects, and another none
MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z?$"
NUMBER = r"^-?[0-9]{1,18}$"
REAL = r"^-?[0-9]{1,300}(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,3})?$"
TRUTH = r"^(true|false)$"
FORMS = {"double": REAL, "boolean": TRUTH, "timestamp": MOMENT, **dict.fromkeys(WHOLE, NUMBER)}
FIRST_YEAR = "1900"  # Java and Arrow agree on calendars from here on
LONGEST = 1 << 20  # bytes of a line


def is_plain(schema: Schema) -> bool:
    """Say whether the columns have types that Arrow may read."""
    return all(column.type.lower() in TYPES for column in schema)


def plain_json(lines: pa.ChunkedArray, schema: Schema) -> pa.Table | None:
    """Return the columns of lines of JSON, or None where Spark has to read them."""
    if not is_plain(schema) or not _all(pc.match_substring_regex(lines, OBJECT)):
        return None
    told = pa.schema([(column.name, _read_as(column)) for column in schema])
    options = pa_json.ParseOptions(explicit_schema=told, unexpected_field_behavior="ignore")
    reading = pa_json.ReadOptions(block_size=2 * LONGEST)
    try:
        table = pa_json.read_json(_file(lines), reading, options)
        if table.num_rows != len(lines):
            return None
        return _converted({name: table[name] for name in told.names}, schema)
    except pa.ArrowException:
        return None


def plain_csv(
    lines: pa.ChunkedArray, names: Sequence[str], schema: Schema, delimiter: str
) -> pa.Table | None:
    """Return the columns of lines of CSV, whose fields have these names, or None as above.

    Lines with quotes, blanks or empty fields are left to Spark.
    """
    if not is_plain(schema) or _any(pc.match_substring_regex(lines, r'["\s]|^$')):
        return None
    keys = [name.lower() for name in names]
    parsing = pa_csv.ParseOptions(delimiter=delimiter, quote_char=False)
    reading = pa_csv.ReadOptions(column_names=keys, block_size=2 * LONGEST)
    texts = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(keys, pa.string()), strings_can_be_null=False
    )
    if len(set(keys)) < len(keys):
        return None
    try:
        table = pa_csv.read_csv(_file(lines), reading, parsing, texts)
        if table.num_rows != len(lines):
            return None
        columns = {column.name: table[column.name.lower()] for column in schema}
        if any(_any(pc.equal(each, "")) for each in columns.values()):
            return None
        return _converted({c.name: _parsed(columns[c.name], c) for c in schema}, schema)
    except (pa.ArrowException, KeyError, _NotPlainError):
        return None


class _NotPlainError(Exception):
    """A value is written in another way than the plain one."""


def _read_as(column: Column) -> pa.DataType:
    """Return the type that Arrow reads; times are text first, of which only one form counts."""
    kind = column.type.lower()
    return pa.string() if kind == "timestamp" else TYPES[kind]


def _parsed(texts: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    kind = column.type.lower()
    if kind in FORMS and not _all(pc.match_substring_regex(texts, FORMS[kind])):
        raise _NotPlainError
    return texts if kind == "timestamp" else texts.cast(_read_as(column))


def _converted(columns: Mapping[str, pa.ChunkedArray], schema: Schema) -> pa.Table | None:
    found = []
    for column in schema:
        values = columns[column.name]
        kind = column.type.lower()
        if kind == "timestamp":
            values = _moments(values)
        if values is None or (kind == "double" and not _is_plain_double(values)):
            return None
        found.append(values)
    return pa.Table.from_arrays(found, names=list(schema.names))


def _moments(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    if not _all(pc.match_substring_regex(texts, MOMENT)) or _any(pc.less(texts, FIRST_YEAR)):
        return None
    bare = pc.replace_substring(texts, "Z", "")
    return bare.cast(pa.timestamp("us")).cast(pa.int64()).cast(MOMENTS)


def _is_plain_double(values: pa.ChunkedArray) -> bool:
    """Say whether all are numbers, and none a zero, which may have lost or kept its sign."""
    return _all(pc.is_finite(values)) and not _any(
        pc.and_(pc.equal(values, 0.0), pc.less(pc.divide(1.0, values), 0.0))
    )


def _file(lines: pa.ChunkedArray) -> io.BytesIO:
    return io.BytesIO("\n".join(lines.to_pylist()).encode())


def _all(mask: pa.ChunkedArray) -> bool:
    """Say whether it holds wherever there is a value."""
    return pc.all(mask, min_count=0).as_py() is not False


def _any(mask: pa.ChunkedArray) -> bool:
    return bool(pc.any(mask).as_py())
