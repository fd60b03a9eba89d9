"""A segmented, append-only log of Arrow record batches that survives a crash at any byte.

segment  = magic, frame(schema), frame(record)*      named by the tuples before it

Frames and records are in log_frames. Only the last segment can have a torn tail: it is cut off,
and set aside, when the log is opened. Damage anywhere else is an error, and so is a log that ends
before what the journal has read of it: tuples that were acknowledged would be missing.
"""

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.engine.interfaces.durable import sync_directory, writing
from penstock.engine.interfaces.pushed.log_frames import (
    DEPTH_SHIFT,
    END,
    FRAME,
    LEAST,
    MAGIC,
    MOST_ROWS,
    RECORD,
    frame_of,
    framed,
    walked,
    whole_body,
)
from penstock.errors import BadRowError, SourceError

Place = tuple[int, int]  # a segment, and a byte of it
BEGINNING: Place = (-1, 0)
NAME = re.compile(r"\d{20,}\.log")
HINT = "restore it from a copy, or give up what is lost in it: penstock repair HOME"
SEGMENT_BYTES = 64 << 20  # what a commit leaves behind at most, and one open reads through


@dataclass(frozen=True, slots=True)
class Span:
    """Where one record lies: its segment (the tuples before that), and its bytes there."""

    segment: int
    first: int
    last: int
    rows: int
    arrived: float
    depth: int = 0


class Log:
    """One stream's log; callers see to it that one thread at a time uses it."""

    def __init__(
        self,
        home: Path,
        schema: pa.Schema,
        *,
        sync: bool,
        read: Place = BEGINNING,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Open the log, making it or cutting off a torn tail; `sync` puts every append on disk.

        `read` is how far the journal says that it was read: a log that is shorter is damaged.
        Nothing is changed where it is.
        """
        self.ended = False
        self.notice = ""  # what was cut off, for those who ask
        self._handle = -1
        self._home = home
        self._schema = schema
        self._sync = sync
        self._segment_bytes = segment_bytes
        self._header = MAGIC + framed(schema.serialize().to_pybytes())
        segments = segments_of(home)
        if read[0] > max(segments, default=-1):
            raise self._missing(*read)
        if segments:
            self._reopen(segments[-1], read)
        else:
            self._start(0)

    @property
    def rows(self) -> int:
        """Return how many tuples were ever appended."""
        return self._segment + self._rows_here

    def append(self, batches: list[pa.RecordBatch], arrived: float, depth: int = 0) -> list[Span]:
        """Add the batches, all or none, and return where they lie."""
        if any(batch.num_rows >= MOST_ROWS for batch in batches):
            raise BadRowError(f"these are {MOST_ROWS:,} rows or more", hint="push them in parts")
        heads = [RECORD.pack(arrived, depth << DEPTH_SHIFT | each.num_rows) for each in batches]
        bodies = [memoryview(batch.serialize()) for batch in batches]
        if any(len(body) + RECORD.size >= END for body in bodies):
            raise BadRowError("the rows take more than 4 GB", hint="push them in parts")
        if self._size >= self._segment_bytes and self._rows_here:
            self._rotate()
        spans, place = [], self._size
        for batch, body in zip(batches, bodies, strict=True):
            end = place + FRAME.size + RECORD.size + len(body)
            spans.append(Span(self._segment, place, end, batch.num_rows, arrived, depth))
            place = end
        pieces = zip(heads, bodies, strict=True)
        self._write(*(part for head, body in pieces for part in (frame_of(head, body), head, body)))
        self._rows_here += sum(span.rows for span in spans)
        return spans

    def end(self) -> None:
        """Add that nothing follows."""
        if not self.ended:
            self._write(framed(RECORD.pack(0.0, END)))
            self.ended = True

    def after(self, segment: int, place: int) -> Iterator[Span]:
        """Walk the records after a place, in order."""
        wanted = [start for start in segments_of(self._home) if start >= segment]
        follows = 0 if segment < 0 else None  # the tuples before the next segment, where known
        for start in wanted:
            if follows is not None and start != follows:
                raise self._missing(follows, len(self._header))
            rows, gaps = 0, False
            for span in self._walk(start, len(self._header)):
                rows, gaps = rows + span.rows, gaps or not span.rows
                if span.rows and (start > segment or span.first >= place):
                    yield span
            follows = None if gaps else start + rows

    def read(self, segment: int, first: int, last: int) -> list[pa.RecordBatch]:
        """Return the batches of the records between two places of a segment."""
        try:
            with self._path(segment).open("rb") as file:
                file.seek(first)
                data = memoryview(file.read(last - first))
        except OSError as error:
            raise SourceError(f"{self._path(segment)} cannot be read: {error.strerror}") from error
        batches, place = [], 0
        while place < last - first:
            body = whole_body(data, place)
            if body is None:
                raise self._damage(segment, first + place)
            if RECORD.unpack_from(body)[1]:  # else it is a gap
                buffer = pa.py_buffer(body[RECORD.size :])
                batches.append(pa.ipc.read_record_batch(buffer, self._schema))
            place += FRAME.size + len(body)
        return batches

    def to_disk(self) -> None:
        """Wait until all that was appended is on disk."""
        with writing(self._path(self._segment)):
            os.fsync(self._handle)

    def last(self) -> Span | None:
        """Return the last record with rows, whoever has read it, or None where there was none."""
        for start in reversed(segments_of(self._home)):
            found = deque((s for s in self._walk(start, len(self._header)) if s.rows), maxlen=1)
            if found:
                return found[0]
        return None

    def forget(self, segment: int, place: int) -> None:
        """Remove the segments that lie wholly before a place; the last one with rows stays."""
        kept = 1 if self._rows_here else 2
        for start in segments_of(self._home)[:-kept]:
            passed = start == segment and place >= self._path(start).stat().st_size
            if start < segment or passed:
                self._path(start).unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _path(self, segment: int) -> Path:
        return segment_path(self._home, segment)

    def _start(self, segment: int) -> None:
        """Begin a segment, over one that a crash left without its whole header."""
        path = self._path(segment)
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        with writing(path):
            handle = os.open(path, flags, 0o644)
            try:
                self._put(handle, self._header)
                os.fsync(handle)
                sync_directory(self._home)
            except OSError:
                os.close(handle)
                path.unlink()
                raise
        self._handle, self._segment = handle, segment
        self._rows_here, self._size = 0, len(self._header)

    def _rotate(self) -> None:
        old = self._handle
        os.fsync(old)  # `to_disk` waits for the last segment alone
        self._start(self.rows)
        os.close(old)

    def _reopen(self, last: int, read: Place) -> None:
        """Go on in the last segment, cutting off what a crash left half written."""
        path = self._path(last)
        try:
            data = memoryview(path.read_bytes())
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error.strerror}", hint=HINT) from error
        known = read[1] if read[0] == last else 0
        if bytes(data[: len(self._header)]) != self._header:
            if known or not self._header.startswith(bytes(data)):
                raise self._other_header(path)
            self._start(last)  # torn while it was made; nothing was acknowledged in it
            return
        found = walked(data, len(self._header))
        if found.rest == "damaged":
            raise self._damage(last, found.end)
        if known and known not in found.places:
            raise self._damage(last, found.end, f"and was read up to byte {known}")
        if found.rest == "torn":
            self.notice = set_tail_aside(path, data, found.end)
        with writing(path):
            self._handle = os.open(path, os.O_RDWR | os.O_APPEND)
            os.ftruncate(self._handle, found.end)
        self.ended = found.ended
        self._segment, self._rows_here, self._size = last, found.rows, found.end

    def _walk(self, segment: int, place: int) -> Iterator[Span]:
        path = self._path(segment)
        size = path.stat().st_size
        with path.open("rb") as file:
            while place < size:
                file.seek(place)
                head = file.read(LEAST)
                if len(head) < LEAST:
                    raise self._damage(segment, place)
                length, _ = FRAME.unpack_from(head)
                arrived, count = RECORD.unpack_from(head, FRAME.size)
                end = place + FRAME.size + length
                if end > size or length < RECORD.size:
                    raise self._damage(segment, place)
                if count != END:
                    depth, rows = divmod(count, MOST_ROWS)
                    yield Span(segment, place, end, rows, arrived, depth)
                place = end

    def _write(self, *pieces: bytes | memoryview) -> None:
        """Write all of it, or leave the segment as it was.

        Pieces are written as they lie: a train of vectors is too large to be put together first.
        """
        with writing(self._path(self._segment)):
            try:
                self._put(self._handle, *pieces)
            except OSError:
                os.ftruncate(self._handle, self._size)
                raise
        self._size += sum(map(len, pieces))

    def _put(self, handle: int, *pieces: bytes | memoryview) -> None:
        for piece in pieces:
            left = memoryview(piece)
            while left:
                left = left[os.write(handle, left) :]
        if self._sync:
            os.fsync(handle)

    def _damage(self, segment: int, place: int, more: str = "") -> SourceError:
        return SourceError(
            f"{self._path(segment)} is damaged at byte {place}{more and f' {more}'}", hint=HINT
        )

    def _missing(self, segment: int, place: int) -> SourceError:
        return SourceError(
            f"{self._path(segment)} is missing, and was read up to byte {place}", hint=HINT
        )

    def _other_header(self, path: Path) -> SourceError:
        return SourceError(
            f"{path} is damaged at its beginning, or was written for other columns", hint=HINT
        )


def segments_of(home: Path) -> list[int]:
    """Return the segments of a log, each as the tuples before it."""
    names = (path.name for path in home.iterdir()) if home.is_dir() else ()
    return sorted(int(name.removesuffix(".log")) for name in names if NAME.fullmatch(name))


def segment_path(home: Path, segment: int) -> Path:
    """Return the file of a segment."""
    return home / f"{segment:020}.log"


def set_tail_aside(path: Path, data: memoryview, place: int) -> str:
    """Keep what is behind a place in a file of its own, and return what to tell of it."""
    aside = path.with_name(f"{path.name}.torn-{place}")
    with writing(aside):
        aside.write_bytes(data[place:])
    return (
        f"the last {len(data) - place:,} bytes of {path} are a record that was never finished; "
        f"they are set aside in {aside.name}"
    )
