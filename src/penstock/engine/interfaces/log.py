"""A segmented, append-only log of Arrow record batches that survives a crash at any byte.

segment  = magic, frame(schema), frame(record)*      named by the tuples before it
frame    = length (4), CRC-32 of the body (4), body
record   = arrival, seconds since 1970 (8), tuples (4), Arrow IPC batch; END tuples: the stream ends

The five highest bits of the tuples' number are their depth: how many rules, one after the other,
led to them.

Only the last segment can have a torn tail: it is cut off when the log is opened. Damage anywhere
else is an error, since tuples that were acknowledged would be missing.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.engine.interfaces.durable import sync_directory, writing
from penstock.errors import BadRowError, SourceError

MAGIC = b"PENSTOCK-PUSH-1\n"
FRAME = struct.Struct("<II")
RECORD = struct.Struct("<dI")
END = 2**32 - 1
DEPTH_SHIFT = 27
MOST_ROWS = 1 << DEPTH_SHIFT  # of one record
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

    def __init__(self, home: Path, schema: pa.Schema, *, sync: bool) -> None:
        """Open the log, making it or mending its tail; `sync` puts every append on disk."""
        self.ended = False
        self._handle = -1
        self._home = home
        self._schema = schema
        self._sync = sync
        self._header = MAGIC + framed(schema.serialize().to_pybytes())
        segments = self._segments()
        if segments:
            self._reopen(segments)
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
        if self._size >= SEGMENT_BYTES and self._rows_here:
            self._rotate()
        spans, place = [], self._size
        for batch, body in zip(batches, bodies, strict=True):
            end = place + FRAME.size + RECORD.size + len(body)
            spans.append(Span(self._segment, place, end, batch.num_rows, arrived, depth))
            place = end
        pieces = zip(heads, bodies, strict=True)
        self._write(*(part for head, body in pieces for part in (_frame(head, body), head, body)))
        self._rows_here += sum(span.rows for span in spans)
        return spans

    def end(self) -> None:
        """Add that nothing follows."""
        if not self.ended:
            self._write(framed(RECORD.pack(0.0, END)))
            self.ended = True

    def after(self, segment: int, place: int) -> Iterator[Span]:
        """Walk the records after a place, in order.

        A place past the end was lost with the power, and what is appended next must not be taken
        for it: a new segment begins.
        """
        if segment == self._segment and place > self._size:
            self._rotate()
        for start in self._segments():
            if start > segment:
                yield from self._walk(start, len(self._header))
            elif start == segment:
                yield from self._walk(start, place)

    def read(self, segment: int, first: int, last: int) -> list[pa.RecordBatch]:
        """Return the batches of the records between two places of a segment."""
        try:
            with self._path(segment).open("rb") as file:
                file.seek(first)
                data = memoryview(file.read(last - first))
        except OSError as error:
            raise SourceError(f"{self._path(segment)} cannot be read: {error.strerror}") from error
        batches, place = [], 0
        while place < len(data):
            body = self._body(data, place)
            if body is None:
                raise self._damage(segment, first + place)
            buffer = pa.py_buffer(body[RECORD.size :])
            batches.append(pa.ipc.read_record_batch(buffer, self._schema))
            place += FRAME.size + len(body)
        return batches

    def forget(self, segment: int, place: int) -> None:
        """Remove the segments that lie wholly before a place; the last one stays."""
        for start in self._segments()[:-1]:
            passed = start == segment and place >= self._path(start).stat().st_size
            if start < segment or passed:
                self._path(start).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _segments(self) -> list[int]:
        return sorted(int(path.stem) for path in self._home.glob("*.log"))

    def _path(self, segment: int) -> Path:
        return self._home / f"{segment:020}.log"

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
        self._start(max(self.rows, self._segment + 1))
        os.close(old)

    def _reopen(self, segments: list[int]) -> None:
        """Go on in the last segment, cutting off what a crash left half written."""
        last = segments[-1]
        path = self._path(last)
        data = memoryview(path.read_bytes())
        if bytes(data[: len(self._header)]) != self._header:
            if not self._header.startswith(bytes(data)):
                raise SourceError(
                    f"{path} was written for other columns",
                    hint="drop the stream and make it again, or restore its columns",
                )
            self._start(last)  # torn while it was made; nothing was acknowledged in it
            return
        place, rows = len(self._header), 0
        while place < len(data) and (body := self._body(data, place)) is not None:
            count = RECORD.unpack_from(body)[1]
            self.ended = count == END
            rows += 0 if self.ended else count % MOST_ROWS
            place += FRAME.size + len(body)
        with writing(path):
            self._handle = os.open(path, os.O_RDWR | os.O_APPEND)
            os.ftruncate(self._handle, place)
        self._segment, self._rows_here, self._size = last, rows, place

    def _walk(self, segment: int, place: int) -> Iterator[Span]:
        path = self._path(segment)
        size = path.stat().st_size
        with path.open("rb") as file:
            while place < size:
                file.seek(place)
                head = file.read(FRAME.size + RECORD.size)
                if len(head) < FRAME.size + RECORD.size:
                    raise self._damage(segment, place)
                length, _ = FRAME.unpack_from(head)
                arrived, count = RECORD.unpack_from(head, FRAME.size)
                end = place + FRAME.size + length
                if end > size:
                    raise self._damage(segment, place)
                if count != END:
                    depth, rows = divmod(count, MOST_ROWS)
                    yield Span(segment, place, end, rows, arrived, depth)
                place = end

    def _body(self, data: memoryview, place: int) -> memoryview | None:
        """Return the whole body of the frame at a place, or None where it is torn."""
        if place + FRAME.size > len(data):
            return None
        length, check = FRAME.unpack_from(data, place)
        body = data[place + FRAME.size : place + FRAME.size + length]
        whole = len(body) == length and length >= RECORD.size
        return body if whole and zlib.crc32(body) == check else None

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

    def _damage(self, segment: int, place: int) -> SourceError:
        return SourceError(
            f"{self._path(segment)} is damaged at byte {place}",
            hint="restore it from a copy; removing it gives its tuples up",
        )


def _frame(head: bytes, body: memoryview) -> bytes:
    return FRAME.pack(len(head) + len(body), zlib.crc32(body, zlib.crc32(head)))


def framed(body: bytes) -> bytes:
    """Return the body with its length and its check."""
    return FRAME.pack(len(body), zlib.crc32(body)) + body
