"""JSON, CSV and text by lines: the driver cuts and reads the lines, Spark parses them in one job.

Lines rather than files go to Spark, so that a boundary is a byte range whatever the train's size,
a file that has grown meanwhile gives the same rows, and their order never depends on how many
cores read them. Spark's own readers give the same rows (tested), but for a line that holds a JSON
array, which here is a reject.
"""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

from penstock.engine.interfaces.formats.lines import (
    BYTE_ORDER_MARK,
    after_bytes,
    after_lines,
    content,
    first_line,
    is_compressed,
    split,
    texts,
)
from penstock.engine.interfaces.formats.listing import FoundFile
from penstock.engine.interfaces.formats.plain_lines import plain_csv, plain_json
from penstock.engine.interfaces.formats.quoted import MOST_BYTES, after_record, records, runs
from penstock.engine.interfaces.formats.reader import FileFormat, FilePiece
from penstock.engine.interfaces.formats.repair import (
    TIMES,
    Mended,
    mended_csv,
    mended_json,
)
from penstock.engine.interfaces.frames import SPARK_FAILURES, through_spark
from penstock.engine.interfaces.interface import Ingest, Surroundings
from penstock.engine.interfaces.rejects import (
    Reject,
    event_time,
    joined,
    misfit,
    rejects_of,
    timeless,
    unreadable,
)
from penstock.engine.spark.spark_errors import sentence
from penstock.engine.trains.arrow_bridge import collect_small
from penstock.engine.trains.types import arrow_schema
from penstock.engine.trains.vectors import as_lists, with_packed
from penstock.errors import BadOptionError, SourceError, shortened
from penstock.model.definitions import StreamDefinition
from penstock.model.own_names import own
from penstock.model.schema import Column, Schema

PIECE_BYTES = 128 << 20  # a larger file is cut: its text, lines and rows are in memory at once
CORRUPT = own("corrupt")
BAD = own("bad")

Layout = tuple[str, ...] | None  # a CSV file's own columns in order; None where none are named


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of files that have the same columns in the same order."""

    layout: Layout
    lines: pa.Array


@dataclass(frozen=True, slots=True)
class ParsedLines:
    """A row for each line; `wrong` marks those that do not fit, `rejects` says why, in order."""

    rows: pa.Table
    wrong: pa.ChunkedArray
    rejects: Sequence[Reject]

    @property
    def fitting(self) -> pa.Table:
        """Return the rows that fit."""
        return self.rows.filter(pc.invert(self.wrong)) if self.rejects else self.rows


class TextReader:
    """One stream's JSON or CSV files."""

    def __init__(
        self, definition: StreamDefinition, file_format: FileFormat, around: Surroundings
    ) -> None:
        """Keep what the lines are to become."""
        self._stream = definition
        self._time = event_time(definition)
        self._format = file_format
        self._around = around
        self._named = file_format.format == "csv" and file_format.header

    def open(self) -> None:
        if self._format.format == "text":
            require_one_text(self._stream)
            return
        line = self._around.spark.createDataFrame(pa.table({"line": pa.array(["-"])}))
        pattern = self._format.timestamp_format
        try:  # only running it shows a type or a pattern that Spark cannot read
            collect_small(self._parsed(line, None))
            if pattern:
                collect_small(line.select(F.try_to_timestamp("line", F.lit(pattern))))
        except SPARK_FAILURES as error:
            raise BadOptionError(
                f"{self._format.format} cannot be read as {self._stream.schema.ddl()}: "
                f"{sentence(error)}",
                hint="declare the column as STRING, or correct timestamp_format",
            ) from error

    def extent(self, entry: FoundFile) -> int | None:
        return None if is_compressed(entry.path) else entry.size

    def cut(self, entry: FoundFile, first: int) -> int:
        rows = self._format.rows_per_train
        try:
            if rows is None:
                place = after_bytes(entry.path, first, entry.size, PIECE_BYTES)
                return self._after_record(entry, first, place)
            names = int(self._named and first == 0)
            place = after_lines(entry.path, first, entry.size, rows + names)
            return self._after_record(entry, first, place)
        except OSError:
            return entry.size  # reading it will say what is wrong

    def _after_record(self, entry: FoundFile, first: int, place: int) -> int:
        """Return the end of the record that a line end lies in: no train has half of one."""
        if self._format.format != "csv" or place >= entry.size:
            return place
        sep, data = self._format.delimiter, content(entry.path, first, place)
        if all(run.ends for run in runs(split(data), data, sep)):
            return place
        data = content(entry.path, first, min(entry.size, place + MOST_BYTES))
        return first + after_record(data, place - first, sep)

    def read(self, pieces: Sequence[FilePiece]) -> Ingest:
        return self.load(pieces)

    def load(self, pieces: Sequence[FilePiece]) -> Ingest:
        rejects: list[pa.Table | None] = []
        runs = [lines for piece in pieces if (lines := self._lines(piece, rejects)) is not None]
        tables = [arrow_schema(self._stream.schema).empty_table()]
        for layout, group in groupby(runs, key=lambda run: run.layout):
            lines = pa.chunked_array([run.lines for run in group], pa.large_string())
            if len(lines):
                table, bad = self._parse(lines, layout)
                tables.append(table)
                rejects.append(bad)
        return Ingest(pa.concat_tables(tables), joined(rejects))

    def _lines(self, piece: FilePiece, rejects: list[pa.Table | None]) -> Lines | None:
        """Return the piece's lines; add what cannot be read to `rejects`."""
        path = piece.entry.path
        try:
            layout = self._layout(piece.entry) if self._named else None
            data = content(path, piece.first, piece.last)
        except (OSError, ValueError, pa.ArrowException) as error:
            if piece.first == 0 or isinstance(error, OSError):  # once a file, whatever the cut
                rejects.append(rejects_of([unreadable(path, error)]))
            return None
        if piece.first == 0:
            data = data.removeprefix(BYTE_ORDER_MARK)
            data = data.partition(b"\n")[2] if self._named else data
        lines, wrong = self._records(data)
        found, bad = texts(lines)
        rejects += [rejects_of(wrong), bad]
        return Lines(layout, found)

    def _records(self, data: bytes) -> tuple[pa.Array, list[Reject]]:
        if self._format.format != "csv":
            return split(data), []
        return records(data, self._format.delimiter, multiline=self._format.multiline)

    def _layout(self, entry: FoundFile) -> Layout:
        """Return a CSV file's columns from its first line; ValueError where ours are missing."""
        line = first_line(entry.path)
        if not line:
            return ()
        if not all(run.ends for run in runs(split(line), line, self._format.delimiter)):
            raise ValueError("its header has a line break inside quotes")
        names = tuple(
            next(csv.reader([line.decode(errors="replace")], delimiter=self._format.delimiter))
        )
        has = {name.strip().lower() for name in names}
        missing = [name for name in self._stream.schema.names if name.lower() not in has]
        if missing:
            raise ValueError(f"its header has no column {', '.join(missing)}")
        return names

    def _parse(self, lines: pa.ChunkedArray, layout: Layout) -> tuple[pa.Table, pa.Table | None]:
        """Return the rows of the lines that fit, and the others as rejects."""
        parsed = self.parsed(lines, layout)
        return parsed.fitting, rejects_of(parsed.rejects)

    def parsed(self, lines: pa.ChunkedArray, layout: Layout = None) -> ParsedLines:
        """Return a row for each line, in their order, and why those do not fit that do not."""
        table = self._plain(lines, layout)
        if table is None:
            table = self._mend(lines, self._through_spark(lines, layout), layout)
        else:
            table = table.append_column(BAD, pa.array(np.zeros(table.num_rows, dtype=bool)))
        marks = table[BAD]
        table, unpackable = with_packed(table.drop_columns([BAD]), self._stream.schema)
        bad = pc.or_(marks, unpackable)
        untimed = pc.is_null(table[self._time]) if self._time else pa.scalar(False)
        wrong = pc.or_(bad, untimed)
        raws = lines.filter(wrong).to_pylist()
        why = zip(raws, table.filter(wrong).to_pylist(), bad.filter(wrong).to_pylist(), strict=True)
        found = [self._reject(raw, row, layout, is_bad) for raw, row, is_bad in why]
        return ParsedLines(table, wrong, found)

    def _plain(self, lines: pa.ChunkedArray, layout: Layout) -> pa.Table | None:
        """Return the lines as columns where Arrow reads all of them as Spark would."""
        if self._format.format == "text":
            return pa.table([lines.cast(pa.string())], schema=arrow_schema(self._stream.schema))
        if self._format.timestamp_format:
            return None
        if self._format.format == "json":
            return plain_json(lines, self._stream.schema)
        names = layout or self._stream.schema.names
        return plain_csv(lines, names, self._stream.schema, self._format.delimiter)

    def _through_spark(self, lines: pa.ChunkedArray, layout: Layout) -> pa.Table:
        """Return the lines as columns, with one more that says which of them do not fit."""
        marked = Schema((*as_lists(self._stream.schema), Column(BAD, "boolean")))
        try:
            return through_spark(
                pa.table({"line": lines}),
                lambda frame: self._parsed(frame, layout),
                marked,
                self._around,
            )
        except SPARK_FAILURES as error:
            kind, name = self._format.format, self._stream.name
            raise SourceError(f"the {kind} of {name} cannot be read: {sentence(error)}") from error

    def _mend(self, lines: pa.ChunkedArray, table: pa.Table, layout: Layout) -> pa.Table:
        """Return the table with the rows of lines that fit in other words, at their places."""
        if not self._mendable or not pc.any(table[BAD]).as_py():
            return table
        places = np.flatnonzero(table[BAD].to_numpy())
        tried = [self._mended(raw, layout) for raw in lines.take(pa.array(places)).to_pylist()]
        found = [(at, each) for at, each in zip(places, tried, strict=True) if each is not None]
        if not found:
            return table
        words = pa.chunked_array([[each.line for _, each in found]], pa.large_string())
        again = self._later(self._through_spark(words, layout), [each for _, each in found])
        order = np.arange(table.num_rows)
        order[[at for at, _ in found]] = table.num_rows + np.arange(len(found))
        return pa.concat_tables([table, again]).take(pa.array(order))

    @property
    def _mendable(self) -> bool:
        timed = any(column.type in TIMES for column in self._stream.schema)
        return self._format.lenient or (self._format.format == "json" and timed)

    def _mended(self, raw: str, layout: Layout) -> Mended | None:
        if self._format.format == "json":
            return mended_json(raw, self._stream.schema, lenient=self._format.lenient)
        names = tuple(column.name for column in self._columns(layout))[:-1]
        return mended_csv(raw, names, self._stream.schema, self._format.delimiter)

    def _later(self, table: pa.Table, mended: Sequence[Mended]) -> pa.Table:
        """Return the table with the fractions of seconds that its lines could not hold."""
        for name in {name for each in mended for name in each.microseconds}:
            more = pa.array([each.microseconds.get(name, 0) for each in mended], pa.int64())
            column = table[name]
            times = pc.add(column.cast(pa.int64()), more).cast(column.type)
            table = table.set_column(table.column_names.index(name), name, times)
        return table

    def _parsed(self, frame: DataFrame, layout: Layout) -> DataFrame:
        """Return the frame's lines as columns, with one more that says which lines do not fit."""
        names = self._stream.schema.names
        columns = [F.col("row").getField(name).alias(name) for name in names]
        bad = F.col("row").getField(CORRUPT).isNotNull().alias(BAD)
        return frame.select(self._row(layout).alias("row")).select(*columns, bad)

    def _row(self, layout: Layout) -> SparkColumn:
        options = {
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": CORRUPT,
            "timeZone": "UTC",
            "sep": self._format.delimiter,
            "escape": '"',  # RFC 4180: two quotes are one, a backslash is itself
        }
        if self._format.timestamp_format:
            options["timestampFormat"] = self._format.timestamp_format
        if self._format.format == "json":
            return F.from_json("line", self._columns(None).ddl(), options)
        return F.from_csv("line", self._columns(layout).ddl(), options)

    def _columns(self, layout: Layout) -> Schema:
        """Return the columns of a line: the file's own order, undeclared ones as text."""
        corrupt = Column(CORRUPT, "string")
        if not layout:
            return Schema((*as_lists(self._stream.schema), corrupt))
        left = {column.name.lower(): column for column in as_lists(self._stream.schema)}
        found = [left.pop(name.strip().lower(), None) for name in layout]
        others = [Column(own(str(place)), "string") for place in range(len(layout))]
        return Schema((*(a or b for a, b in zip(found, others, strict=True)), corrupt))

    def _reject(self, raw: str, row: dict[str, Any], layout: Layout, is_bad: bool) -> Reject:
        if not is_bad:
            return timeless(raw, str(self._time))
        try:
            if self._format.format == "json":
                return self._wrong_value(raw, row, _json_object(raw))
            names = [column.name for column in self._columns(layout)][:-1]
            cells = next(csv.reader([raw], delimiter=self._format.delimiter), [])
            if len(cells) != len(names):
                counted = f"{len(cells)} fields where {len(names)} are declared"
                return Reject(raw, counted, kind="fields", value=str(len(cells)))
            return self._wrong_value(raw, row, dict(zip(names, cells, strict=True)))
        except (ValueError, RecursionError, csv.Error) as error:
            why = f"not {self._format.format.upper()}: {shortened(str(error))}"
            return Reject(raw, why, kind="syntax")

    def _wrong_value(self, raw: str, row: dict[str, Any], given: dict[str, Any]) -> Reject:
        """Name the first value that is there in the text and null in the row."""
        for column in self._stream.schema:
            value = given.get(column.name)
            if row[column.name] is None and value not in (None, ""):
                return misfit(raw, column, value)
        return Reject(raw, "it does not fit the stream's columns", kind="type")


def require_one_text(definition: StreamDefinition) -> None:
    """Raise BadOptionError where lines of text cannot be a stream's rows."""
    if [column.type.lower() for column in definition.schema] != ["string"]:
        raise BadOptionError(
            f"format => 'text' fills one column of STRING, and {definition.name} has "
            f"{definition.schema.ddl()}",
            hint="declare that one alone; queries take it apart",
        )


def _json_object(raw: str) -> dict[str, Any]:
    value = json.loads(raw)
    if not isinstance(value, dict):
        raise ValueError("the line is not one object")  # noqa: TRY004 - as json.loads raises
    return value
