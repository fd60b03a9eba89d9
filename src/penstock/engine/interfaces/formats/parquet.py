"""Parquet files: read in place where Spark reads them as they are, else cast by Arrow."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from penstock.engine.interfaces.formats.casts import cast, is_stored_alike, widens
from penstock.engine.interfaces.formats.listing import DataFile, FoundFile
from penstock.engine.interfaces.formats.reader import FileFormat, FilePiece
from penstock.engine.interfaces.formats.remote import RemoteFile
from penstock.engine.interfaces.interface import Ingest
from penstock.engine.interfaces.rejects import (
    Reject,
    event_time,
    joined,
    rejects_of,
    unreadable,
    without_timeless,
)
from penstock.engine.trains.types import arrow_schema, vectors_in
from penstock.engine.trains.vectors import is_vector_like, packed
from penstock.errors import BadOptionError
from penstock.model.definitions import StreamDefinition
from penstock.model.functions.vectors import VECTORS

# What a file that is gone, no Parquet, or of other columns raises (Arrow's errors are ValueErrors
# or come with them).
NO_VECTOR = "a vector holds a NULL, is no list of pairs, ends inside of an element, or is too long"
UNREADABLE = (OSError, ValueError, pa.ArrowException)


class RowGroups:
    """One Parquet file read by row numbers; the group read last is kept, for the next train."""

    def __init__(self, path: DataFile) -> None:
        """Read the footer."""
        # Spark writes timestamps as INT96; in nanoseconds they would overflow after 2262.
        self.file = pq.ParquetFile(
            path if isinstance(path, Path) else path.open("rb"), coerce_int96_timestamp_unit="us"
        )
        sizes = [
            self.file.metadata.row_group(at).num_rows for at in range(self.file.num_row_groups)
        ]
        self.ends = np.cumsum(np.array(sizes, dtype=np.int64))
        self.rows = int(self.file.metadata.num_rows)
        self._held: tuple[int, tuple[str, ...], pa.Table] | None = None
        self._lock = threading.Lock()  # offering and reading may be two threads

    def group_of(self, row: int) -> tuple[int, int, int]:
        """Return the group that holds a row, with the numbers of its first and past its last."""
        at = int(np.searchsorted(self.ends, row, side="right"))
        return at, int(self.ends[at - 1]) if at else 0, int(self.ends[at])

    def read(self, first: int, last: int, columns: Sequence[str]) -> pa.Table:
        """Return the rows from `first` to before `last`."""
        parts = []
        while first < last:
            at, start, end = self.group_of(first)
            past = int(np.searchsorted(self.ends, last, side="right"))  # the first not read whole
            if first == start and past - at > 1:
                parts.append(self._groups(range(at, past), columns))
                first = int(self.ends[past - 1])
                continue
            upto = min(last, end)
            parts.append(self._group(at, tuple(columns)).slice(first - start, upto - first))
            first = upto
        return pa.concat_tables(parts) if parts else self._empty(columns)

    def _groups(self, which: Sequence[int], columns: Sequence[str]) -> pa.Table:
        """Return whole groups, read at once: large values then lie in one piece."""
        with self._lock:
            table = self.file.read_row_groups(list(which), columns=_chosen(tuple(columns)))
        return table.select(list(columns))

    def _group(self, at: int, columns: tuple[str, ...]) -> pa.Table:
        with self._lock:
            held = self._held
            if held is None or held[:2] != (at, columns):
                held = (at, columns, self.file.read_row_group(at, columns=_chosen(columns)))
                self._held = held
        return held[2].select(list(columns))

    def _empty(self, columns: Sequence[str]) -> pa.Table:
        return self.file.schema_arrow.empty_table().select(list(columns))


@dataclass(frozen=True, slots=True)
class Match:
    """How a file's columns stand for the stream's: their names there, and whether as they are."""

    names: tuple[str, ...]
    in_place: bool


class ParquetReader:
    """One stream's Parquet files."""

    def __init__(self, definition: StreamDefinition, file_format: FileFormat) -> None:
        """Keep what the files are to hold."""
        self._stream = definition
        self._time = event_time(definition)
        self._rows_per_train = file_format.rows_per_train
        self._held: tuple[DataFile, RowGroups] | None = None

    def open(self) -> None:
        if not len(self._stream.schema):
            raise BadOptionError(f"{self._stream.name} has no columns")

    def extent(self, entry: FoundFile) -> int | None:
        if self._rows_per_train is None:
            return None
        try:
            return self._groups(entry).rows
        except UNREADABLE:
            return None  # reading it will say what is wrong

    def cut(self, entry: FoundFile, first: int) -> int:
        rows = self._groups(entry).rows
        return min(rows, first + (self._rows_per_train or rows))

    def read(self, pieces: Sequence[FilePiece]) -> Ingest:
        if any(piece.first or piece.last is not None for piece in pieces):
            return self.load(pieces)
        if any(isinstance(piece.entry.path, RemoteFile) for piece in pieces):
            return self.load(pieces)  # Spark may not reach what Arrow does
        paths: list[Path] = []
        rejects: list[pa.Table | None] = []
        for entry in (piece.entry for piece in pieces):
            try:
                groups = self._groups(entry)
                if not self._match(groups).in_place:
                    return self.load(pieces)
                paths.extend([Path(str(entry.path))] if groups.rows else [])
            except UNREADABLE as error:
                rejects.append(_unfit(entry, error))
        empty = arrow_schema(self._stream.schema).empty_table()
        return Ingest(tuple(paths) or empty, joined(rejects))

    def load(self, pieces: Sequence[FilePiece]) -> Ingest:
        tables = [arrow_schema(self._stream.schema).empty_table()]
        rejects: list[pa.Table | None] = []
        for piece in pieces:
            try:
                fitting, unfit = self._table(piece)
                rows, timeless = without_timeless(fitting, self._time)
                tables.append(rows)
                rejects += [unfit, timeless]
            except UNREADABLE as error:
                if piece.first == 0 or isinstance(error, OSError):  # once a file
                    rejects.append(_unfit(piece.entry, error))
        return Ingest(pa.concat_tables(tables), joined(rejects))

    def _groups(self, entry: FoundFile) -> RowGroups:
        now = entry.path.stat()
        if (now.st_size, now.st_mtime_ns) != (entry.size, entry.mtime_ns):
            raise OSError("the file has changed since it was offered")
        held = self._held
        if held is None or held[0] != entry.path:
            held = (entry.path, RowGroups(entry.path))
            self._held = held
        return held[1]

    def _table(self, piece: FilePiece) -> tuple[pa.Table, pa.Table | None]:
        """Return a piece's rows, and those as rejects whose vectors are none."""
        groups = self._groups(piece.entry)
        names = self._match(groups).names
        last = groups.rows if piece.last is None else piece.last
        rows = groups.read(piece.first, last, names)
        target = arrow_schema(self._stream.schema)
        kinds, columns = vectors_in(target), []
        wrong = np.zeros(rows.num_rows, np.bool_)
        for at, field in enumerate(target):
            if (kind := kinds.get(field.name)) is None:
                columns.append(cast(rows.column(at), field.type))
                continue
            vectors, none = packed(rows.column(at), kind)
            columns.append(vectors)
            wrong |= np.asarray(none)
        table = pa.table(columns, schema=target)
        if not wrong.any():
            return table, None
        places = np.flatnonzero(wrong).tolist()
        where = [f"{piece.entry.path}, row {piece.first + at}" for at in places]
        why = [Reject(each, NO_VECTOR, kind="vector") for each in where]
        return table.filter(pa.array(~wrong)), rejects_of(why)

    def _match(self, groups: RowGroups) -> Match:
        """Return how the file's columns stand for ours; ValueError where they do not."""
        has = {field.name.lower(): field for field in groups.file.schema_arrow}
        names, in_place = [], True
        for column, field in zip(
            self._stream.schema, arrow_schema(self._stream.schema), strict=True
        ):
            found = has.get(column.name.lower())
            if found is None:
                raise ValueError(f"it has no column {column.name}")
            vector = column.type in VECTORS
            if not (is_vector_like(found.type) if vector else widens(found.type, field.type)):
                raise ValueError(f"its {column.name} is {found.type}, not {column.type.upper()}")
            names.append(found.name)
            alike = found.name == column.name and _reads_alike(groups.file, found, field)
            # Packed vectors are read as they lie only where the file says that they are these.
            alike = alike and (
                not vector or vectors_in(pa.schema([found])) == vectors_in(pa.schema([field]))
            )
            in_place = in_place and alike
        timed = self._time is None or _has_no_null(groups.file, self._time)
        return Match(tuple(names), in_place and timed)


def _reads_alike(file: pq.ParquetFile, found: pa.Field, wanted: pa.Field) -> bool:
    if is_stored_alike(found.type, wanted.type):
        return True
    return bool(types.is_timestamp(wanted.type) and wanted.type.tz) and _is_int96(file, found.name)


def _is_int96(file: pq.ParquetFile, name: str) -> bool:
    leaves = (file.schema.column(at) for at in range(len(file.schema)))
    return any(leaf.path == name and leaf.physical_type == "INT96" for leaf in leaves)


def _has_no_null(file: pq.ParquetFile, name: str) -> bool:
    """Say whether the footer promises that the column has no null."""
    groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
    chunks = [group.column(at) for group in groups for at in range(group.num_columns)]
    told = [c.statistics for c in chunks if c.path_in_schema.lower() == name.lower()]
    return all(one is not None and one.has_null_count and not one.null_count for one in told)


def _chosen(columns: tuple[str, ...]) -> list[str] | None:
    """Return the columns to read; a dot in a name would mean a nested one, so then all."""
    return None if any("." in name for name in columns) else list(columns)


def _unfit(entry: FoundFile, error: Exception) -> pa.Table | None:
    return rejects_of([unreadable(entry.path, error)])
