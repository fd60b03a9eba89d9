"""Rows of PostgreSQL as an Arrow table: one COPY in one snapshot, read a column at a time.

| there | here |
| --- | --- |
| boolean, smallint to bigint, real, double precision, date | the same |
| numeric(p,s), p up to 38; numeric alone | DECIMAL(p,s); DECIMAL(38,18) |
| timestamptz, timestamp | TIMESTAMP, TIMESTAMP_NTZ |
| bytea | BINARY |
| arrays of these numbers, booleans and text | ARRAY |
| everything else | STRING, as PostgreSQL writes it |
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from psycopg.sql import SQL, Composable, Identifier
from pyarrow import csv

from penstock.engine.clients.postgres.session import Cursor, Session
from penstock.errors import SourceError, shortened

MOST_BYTES = 2 << 30  # of text: what is larger does not belong into a table that is held whole
WIDEST = 38  # digits of our decimals
NUMERIC = 1700
ARROW = {
    16: pa.bool_(),
    20: pa.int64(),
    21: pa.int16(),
    23: pa.int32(),
    700: pa.float32(),
    701: pa.float64(),
    1082: pa.date32(),
    1114: pa.timestamp("us"),
    1184: pa.timestamp("us", "UTC"),
}
ARRAYS = {
    1000: pa.bool_(),
    1005: pa.int16(),
    1007: pa.int32(),
    1016: pa.int64(),
    1021: pa.float32(),
    1022: pa.float64(),
    1009: pa.string(),
    1015: pa.string(),
}
BYTES = 17
PLAIN = SQL("q.{}")
AS_TEXT = SQL("q.{}::text")
AS_JSON = SQL("to_json(q.{})::text")

Finish = Callable[[pa.ChunkedArray], pa.ChunkedArray | pa.Array]


@dataclass(frozen=True, slots=True)
class _Column:
    """How a column is asked for, what its text is read as, and what is made of that."""

    name: str
    asked: Composable
    read_as: pa.DataType
    finish: Finish | None = None


def read_rows(session: Session, source: Composable, names: Sequence[str] = ()) -> pa.Table:
    """Return the rows of what stands after FROM, or those columns of it alone."""
    with session.transaction(read_only=True) as cursor:
        # In bytes: the extended protocol takes one statement alone, whatever the text holds.
        cursor.execute(SQL("SELECT * FROM {} AS q LIMIT 0").format(source), binary=True)
        columns = _columns(cursor, names)
        asked = SQL(", ").join(each.asked for each in columns)
        text = _copied(
            cursor, SQL("COPY (SELECT {} FROM {} AS q) TO STDOUT (FORMAT csv)"), asked, source
        )
    return _parsed(text, columns)


def _columns(cursor: Cursor, names: Sequence[str]) -> list[_Column]:
    found = {each.name: _column(each) for each in cursor.description or ()}
    if len(found) < len(cursor.description or ()):
        raise SourceError("two columns have the same name", hint="name them apart with AS")
    lower = {name.lower(): column for name, column in found.items()}
    chosen = [found.get(name) or lower.get(name.lower()) for name in names or found]
    missing = [name for name, column in zip(names, chosen, strict=False) if column is None]
    if missing:
        raise SourceError(
            f"there is no column {', '.join(missing)}", hint=f"there is {', '.join(found)}"
        )
    return [column for column in chosen if column is not None]


def _column(told: Any) -> _Column:
    name, kind = Identifier(told.name), told.type_code
    if kind == NUMERIC:
        precision, scale = told.precision, told.scale
        fits = precision is not None and precision <= WIDEST
        made = pa.decimal128(precision, scale) if fits else pa.decimal128(WIDEST, 18)
        return _Column(told.name, PLAIN.format(name), made)
    if kind in ARROW:
        return _Column(told.name, PLAIN.format(name), ARROW[kind])
    if kind in ARRAYS:
        return _Column(told.name, AS_JSON.format(name), pa.string(), _lists_of(ARRAYS[kind]))
    if kind == BYTES:
        return _Column(told.name, PLAIN.format(name), pa.string(), _from_hex)
    return _Column(told.name, AS_TEXT.format(name), pa.string())


def _copied(cursor: Cursor, statement: SQL, *parts: Composable) -> pa.Buffer:
    out = pa.BufferOutputStream()
    with cursor.copy(statement.format(*parts)) as copy:
        for piece in copy:
            out.write(piece)
            if out.tell() > MOST_BYTES:
                raise SourceError(
                    f"it has more than {MOST_BYTES >> 30} GiB, and a table is held whole",
                    hint="ask for less: query => 'SELECT … WHERE …'",
                )
    return out.getvalue()


def _parsed(text: pa.Buffer, columns: Sequence[_Column]) -> pa.Table:
    types = {each.name: each.read_as for each in columns}
    if not text.size:
        table = pa.schema(types.items()).empty_table()
    else:
        try:
            table = csv.read_csv(
                pa.BufferReader(text),
                csv.ReadOptions(column_names=list(types)),
                csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
                csv.ConvertOptions(
                    column_types=types,
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    true_values=["t"],
                    false_values=["f"],
                ),
            )
        except pa.ArrowException as error:
            raise SourceError(
                f"a value does not fit: {shortened(str(error), 300)}",
                hint="cast it there: query => 'SELECT …'",
            ) from error
    for at, each in enumerate(columns):
        if each.finish is not None:
            table = table.set_column(at, each.name, each.finish(table[each.name]))
    return table


def _from_hex(column: pa.ChunkedArray) -> pa.Array:
    digits = pc.utf8_slice_codeunits(column, 2).to_pylist()
    return pa.array([each if each is None else bytes.fromhex(each) for each in digits], pa.binary())


def _lists_of(element: pa.DataType) -> Finish:
    as_float = pa.types.is_floating(element)  # JSON has NaN and the infinities as strings

    def finish(column: pa.ChunkedArray) -> pa.Array:
        lists = [each if each is None else json.loads(each) for each in column.to_pylist()]
        if as_float:
            lists = [
                each if each is None else [v if v is None else float(v) for v in each]
                for each in lists
            ]
        try:
            return pa.array(lists, pa.list_(element))
        except (pa.ArrowException, TypeError) as error:
            raise SourceError(
                "an array of arrays does not fit", hint="unnest it there, or cast it to text"
            ) from error

    return finish
