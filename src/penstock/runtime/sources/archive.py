"""The archive of one stream: its trains as Parquet files, for as long as its definition says.

    train-0000000007.parquet              one train
    train-0000000008-0000000071.parquet   many small ones, merged
    gone.json                             up to which time tuples have been removed

A file's own metadata says which trains it holds, and from when to when (event time, or arrival
where a stream has none). Writing a number again puts the same file there. Files are on disk before
a checkpoint says that they are written. One that is damaged is left out, and told.
"""

import bisect
import json
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.sinks.whole_file import sync_directory, sync_file, write_whole
from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import read_parquet, write_parquet_at
from penstock.model.definitions import StreamDefinition
from penstock.model.schema import Schema
from penstock.model.trains import TrainInfo

NAME = re.compile(r"train-(\d{10,})(?:-(\d{10,}))?\.parquet")
MARK = b"penstock.times"
SMALL_BYTES = 1 << 20  # files below it are merged: a scan pays for each file it opens
MERGE_FILES = 64  # small ones that become one
PATIENCE = 10  # tries in a row before a run that waits for the end stops waiting
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One file: the trains from `first` to `last`, whose times lie from `low` to `high`."""

    path: Path
    first: int
    last: int
    rows: int
    size: int
    low: int
    high: int


class Archive:
    """Written by one worker at a time; anybody may read meanwhile."""

    def __init__(
        self,
        key: str,
        definition: StreamDefinition,
        directory: Path,
        merge_files: int = MERGE_FILES,
    ) -> None:
        """Find what is there; `key` is the stream's in the graph."""
        self._merge_files = merge_files
        self.reader = f"archive:{key}"
        self.schema: Schema = definition.schema
        self.timed = definition.time_column is not None
        self.safe = 0  # trains up to it will never be written again, nor be asked for one by one
        self.cause, self.retry_at, self.failures = "", 0.0, 0
        self._keep = (definition.archive_for or timedelta(0)) // MICROSECOND
        self._directory = directory
        self._lock = threading.RLock()
        self._readers = 0
        self._doomed: list[Path] = []
        self._unsettled: list[Path] = []
        self._pieces, damaged = _found(directory)
        self._gone, unread = _gone(directory / "gone.json")
        self.damaged = [*damaged, *unread]  # files that are left out, and as they were
        self._latest = max((piece.high for piece in self._pieces.values()), default=None)

    @property
    def given_up(self) -> bool:
        """Say whether waiting for this archive is pointless; it is still tried."""
        return self.failures >= PATIENCE

    @property
    def rows(self) -> int:
        """Return how many tuples are kept."""
        return sum(piece.rows for piece in self.pieces())

    @property
    def size(self) -> int:
        """Return what they take on disk, in bytes."""
        return sum(piece.size for piece in self.pieces())

    @property
    def complete_from(self) -> int | None:
        """Return the time from which on every tuple is kept, or None without any tuple."""
        pieces = self.pieces()
        if lost := [last for _, last in map(_trains, self.damaged)]:
            after = (piece.low for piece in pieces if piece.first > max(lost))
            return min(after, default=None if self._latest is None else self._latest + 1)
        if self._gone is not None:
            return self._gone + 1
        return min((piece.low for piece in pieces), default=None)

    def pieces(self) -> list[ArchiveFile]:
        """Return the files, in the order of their trains."""
        with self._lock:
            return [self._pieces[first] for first in sorted(self._pieces)]

    @contextmanager
    def reading(self) -> Iterator[list[ArchiveFile]]:
        """Give the files, which stay until this ends."""
        with self._lock:
            self._readers += 1
        try:
            yield self.pieces()
        finally:
            with self._lock:
                self._readers -= 1
                if not self._readers:
                    for path in self._doomed:
                        path.unlink(missing_ok=True)
                    self._doomed.clear()

    def write(self, trains: Sequence[Train]) -> None:
        """Keep trains, let go of what is older than it has to be, and merge small files."""
        for train in trains:
            if train.rows.count:
                low, high = self._times(train.info)
                number = train.info.number
                self._put(train.rows.to_table(self.schema), (number, number), (low, high))
        self._expire()
        self._merge()

    def to_disk(self) -> None:
        """Wait until all that was written is on disk: a checkpoint will say so."""
        with self._lock:
            new, self._unsettled = self._unsettled, []
        for path in new:
            with suppress(FileNotFoundError):  # merged, or expired
                sync_file(path)
        if new:
            sync_directory(self._directory)

    @property
    def trouble(self) -> str:
        """Return what is wrong with the archive, or nothing."""
        if self.cause or not self.damaged:
            return self.cause
        return (
            f"{len(self.damaged)} files of the archive are damaged and left out: {self.damaged[0]}"
        )

    def forget_after(self, number: int) -> None:
        """Remove trains that the journal does not know: a power cut may have taken its last."""
        for piece in self.pieces():
            if piece.first > number:
                self._remove(piece)

    def remove(self) -> None:
        """Remove everything: the stream is gone."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def failed(self, cause: str, retry_at: float) -> None:
        """Note that it could not be written."""
        self.cause, self.retry_at, self.failures = cause, retry_at, self.failures + 1

    def recovered(self) -> None:
        """Note that it could be written."""
        self.cause, self.failures = "", 0

    def _times(self, info: TrainInfo) -> tuple[int, int]:
        if self.timed and info.first is not None and info.last is not None:
            return info.first, info.last
        arrived = round(info.arrived * 1e6)
        return arrived, arrived

    def _put(self, table: pa.Table, trains: tuple[int, int], times: tuple[int, int]) -> None:
        first, last = trains
        name = f"train-{first:010d}" if first == last else f"train-{first:010d}-{last:010d}"
        path = self._directory / f"{name}.parquet"
        marked = table.replace_schema_metadata({MARK: json.dumps(times).encode()})
        write_parquet_at(marked, path)
        piece = ArchiveFile(path, first, last, table.num_rows, path.stat().st_size, *times)
        with self._lock:
            self._unsettled.append(path)
            self._pieces[first] = piece
            self._latest = max(times[1], self._latest if self._latest is not None else times[1])

    def _expire(self) -> None:
        if self._latest is None:
            return
        old = [piece for piece in self.pieces() if piece.high < self._latest - self._keep]
        if not old:
            return
        until = max(piece.high for piece in old)
        if self._gone is None or until > self._gone:
            body = json.dumps({"until": until}).encode()
            # Before the files go: what is there must never be called more than it is.
            write_whole(self._directory / "gone.json", body, sync=False)
            self._gone = until
        for piece in old:
            self._remove(piece)

    def _merge(self) -> None:
        """Put many small files that follow one another into one."""
        run: list[ArchiveFile] = []
        for piece in self.pieces():
            if piece.last > self.safe or piece.size >= SMALL_BYTES:
                run = []
                continue
            run.append(piece)
            if len(run) == self._merge_files:
                self._replace(run)
                run = []

    def _replace(self, run: Sequence[ArchiveFile]) -> None:
        try:
            table = read_parquet([piece.path for piece in run], self.schema)
        except (OSError, pa.ArrowException):
            self._leave_out_damaged(run)
            return
        times = min(piece.low for piece in run), max(piece.high for piece in run)
        with self._lock:  # nobody may see both
            self._put(table, (run[0].first, run[-1].last), times)
            for piece in run[1:]:
                del self._pieces[piece.first]
        for piece in run:
            self._unlink(piece.path)

    def _leave_out_damaged(self, run: Sequence[ArchiveFile]) -> None:
        """Go on without the files that cannot be read; they stay where they are."""
        for piece in run:
            try:
                read_parquet([piece.path], self.schema)
            except (OSError, pa.ArrowException):
                with self._lock:
                    del self._pieces[piece.first]
                self.damaged.append(piece.path)

    def _remove(self, piece: ArchiveFile) -> None:
        with self._lock:
            del self._pieces[piece.first]
        self._unlink(piece.path)

    def _unlink(self, path: Path) -> None:
        with self._lock:
            if self._readers:
                self._doomed.append(path)
            else:
                path.unlink(missing_ok=True)


def covers(pieces: Sequence[ArchiveFile], number: int) -> bool:
    """Say whether one of these files, in their order, holds a train."""
    place = bisect.bisect_right(pieces, number, key=lambda piece: piece.first) - 1
    return place >= 0 and number <= pieces[place].last


def _found(directory: Path) -> tuple[dict[int, ArchiveFile], list[Path]]:
    """Return the files that are there, and those that cannot be read.

    Those that a merged one covers go; a damaged one covers nothing.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for draft in directory.glob(".*"):
        draft.unlink(missing_ok=True)
    paths = [path for path in sorted(directory.iterdir()) if NAME.fullmatch(path.name)]
    pieces = [(path, read_piece(path)) for path in paths]
    kept: dict[int, ArchiveFile] = {}
    reached = 0
    whole = [piece for _, piece in pieces if piece is not None]
    for piece in sorted(whole, key=lambda piece: (piece.first, -piece.last)):
        if piece.last <= reached:
            piece.path.unlink(missing_ok=True)
        else:
            kept[piece.first], reached = piece, piece.last
    return kept, [path for path, piece in pieces if piece is None]


def give_up(damaged: Path) -> None:
    """Note, before a damaged file goes, that the archive is complete only behind it."""
    directory, last = damaged.parent, _trains(damaged)[1]
    found = [read_piece(path) for path in directory.iterdir() if NAME.fullmatch(path.name)]
    pieces = [piece for piece in found if piece is not None]
    after = [piece.low - 1 for piece in pieces if piece.first > last]
    known, _ = _gone(directory / "gone.json")
    before = max((piece.high for piece in pieces), default=None)
    until = min(after) if after else before
    if until is not None and (known is None or until > known):
        body = json.dumps({"until": until}).encode()
        write_whole(directory / "gone.json", body, sync=True)


def _trains(path: Path) -> tuple[int, int]:
    """Return the first and the last train of a file by its name; all, where it is none of them."""
    name = NAME.fullmatch(path.name)
    return (int(name[1]), int(name[2] or name[1])) if name is not None else (0, 0)


def read_piece(path: Path) -> ArchiveFile | None:
    """Return what an archived file says of itself, or None where it is damaged."""
    first, last = _trains(path)
    try:
        footer = pq.read_metadata(path)
        low, high = json.loads(footer.metadata[MARK])
        return ArchiveFile(
            path, first, last, footer.num_rows, path.stat().st_size, int(low), int(high)
        )
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError):
        return None


def _gone(path: Path) -> tuple[int | None, list[Path]]:
    """Return up to which time tuples have been removed, where that is known, and the file else."""
    try:
        return int(json.loads(path.read_bytes())["until"]), []
    except FileNotFoundError:
        return None, []
    except (OSError, LookupError, TypeError, ValueError):
        return None, [path]
