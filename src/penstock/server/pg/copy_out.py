"""Rows as COPY writes them: text, CSV or PostgreSQL's binary format."""

import csv
import io
from collections.abc import Iterator, Sequence

import pyarrow as pa

from penstock.server.pg.text.statements import CopyOut
from penstock.server.pg.values.encode import BINARY, copied_rows, encoded_rows
from penstock.server.pg.values.types import Column

SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)  # no flags, no extension
TRAILER = b"\xff\xff"
ESCAPED = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def head(how: CopyOut, columns: Sequence[Column]) -> bytes:
    """Return what comes before the rows."""
    if how.form == "binary":
        return SIGNATURE
    return _line(how, [column.name for column in columns]) if how.header else b""


def lines(how: CopyOut, columns: Sequence[Column], rows: pa.Table) -> Iterator[bytes]:
    """Yield each row."""
    if how.form == "binary":
        yield from encoded_rows(rows, columns, [BINARY] * len(columns))
        return
    for values in copied_rows(rows, columns):
        yield _line(how, values)


def tail(how: CopyOut) -> bytes:
    """Return what comes after the rows."""
    return TRAILER if how.form == "binary" else b""


def _line(how: CopyOut, values: Sequence[str | None]) -> bytes:
    if how.form == "text":
        fields = (how.null if v is None else _escaped(v, how.delimiter) for v in values)
        return (how.delimiter.join(fields) + "\n").encode()
    return (how.delimiter.join(_quoted(how, value) for value in values) + "\n").encode()


def _escaped(value: str, delimiter: str) -> str:
    text = "".join(ESCAPED.get(letter, letter) for letter in value)
    return text if delimiter == "\t" else text.replace(delimiter, "\\" + delimiter)


def _quoted(how: CopyOut, value: str | None) -> str:
    """Return a field of CSV; a text that reads like NULL stands in quotes."""
    if value is None:
        return how.null
    if value == how.null:
        return '"' + value.replace('"', '""') + '"'
    line = io.StringIO()
    csv.writer(line, delimiter=how.delimiter, lineterminator="").writerow([value])
    return line.getvalue()
