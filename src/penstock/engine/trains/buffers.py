"""Buffers: FIFO sequences of trains, one writer, many readers, purged behind the slowest.

Over its memory bound a buffer's new trains live on disk (the newest are read last, MAV-48) and
come back when they are read; nothing is dropped. A stream's trains that all readers have read are
kept while they fit into `keep_bytes`, so that a one-time SELECT has something recent to look at;
an operator's output goes when it is read, since a thousand queries have a thousand of them.
"""

import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.engine.trains.rows import Rows, empty_table
from penstock.model.schema import Schema
from penstock.model.trains import BEGIN_OF_TIME, TrainInfo

KEEP_TRAINS = 64  # read trains that a stream may keep for one-time SELECTs, whatever their size


@dataclass(frozen=True, slots=True)
class Train:
    """A train's description with its rows."""

    info: TrainInfo
    rows: Rows


@dataclass(frozen=True, slots=True)
class BufferBounds:
    """Bytes that one buffer, and all of them together, may hold in memory.

    `queue_bytes` may wait for a query's sink, in memory or on disk.
    """

    buffer_bytes: int = 256 << 20
    total_bytes: int = 1 << 30
    keep_bytes: int = 8 << 20
    queue_bytes: int = 1 << 30


DEFAULT_BOUNDS = BufferBounds()


@dataclass(frozen=True, slots=True)
class BufferFigures:
    """What a buffer holds now, and how much has gone through disk."""

    trains: int
    rows: int
    memory_bytes: int
    disk_bytes: int
    spilled_bytes: int


class BufferPool:
    """All buffers of a processor; it knows the total."""

    def __init__(self, spill: Path, bounds: BufferBounds = DEFAULT_BOUNDS) -> None:
        """Spill below the directory `spill`."""
        self.spill, self.bounds = spill, bounds
        self.lock = threading.RLock()
        self._buffers: dict[str, Buffer] = {}
        self._waited_for: dict[str, Buffer] = {}
        self._stirred: set[str] = set()
        self._memory_bytes = 0

    def open(self, key: str, schema: Schema, *, keep: int = 0) -> "Buffer":
        """Return the buffer of that key, made if it is new.

        A new one keeps up to `keep` trains that all readers have read.
        """
        with self.lock:
            if key not in self._buffers:
                self._buffers[key] = Buffer(key, schema, self, keep)
            return self._buffers[key]

    def get(self, key: str) -> "Buffer | None":
        """Return the buffer, or None."""
        return self._buffers.get(key)

    def drop(self, key: str) -> None:
        """Remove a buffer with its trains."""
        with self.lock:
            if buffer := self._buffers.pop(key, None):
                buffer.clear()

    def memory_bytes(self) -> int:
        """Return what all buffers take in memory."""
        return self._memory_bytes

    def took(self, size: int) -> None:
        """Count memory that a buffer has taken, or given back where it is below zero."""
        self._memory_bytes += size

    def note_behind(self, buffer: "Buffer", behind: bool) -> None:
        """Remember whether some reader of a buffer has trains to read."""
        if behind:
            self._waited_for[buffer.key] = buffer
        elif self._waited_for.get(buffer.key) is buffer:
            del self._waited_for[buffer.key]

    def stir(self, readers: Iterable[str]) -> None:
        """Note that what waits for these readers has changed."""
        self._stirred.update(readers)

    def dirty(self) -> set[str]:
        """Return the readers for which what waits has changed since this was last asked."""
        with self.lock:
            found, self._stirred = self._stirred, set()
        return found

    def waited_for(self) -> list["Buffer"]:
        """Return the buffers that some reader has trains to read of."""
        with self.lock:
            return list(self._waited_for.values())

    def __iter__(self) -> Iterator["Buffer"]:
        """Walk the buffers that are there now."""
        with self.lock:
            return iter(list(self._buffers.values()))


class Buffer:
    """The trains of one stream or of one operator's output."""

    def __init__(self, key: str, schema: Schema, pool: BufferPool, keep: int) -> None:
        """Start empty; the first train is number one."""
        self.key, self.schema = key, schema
        self.written = 0
        self.watermark = BEGIN_OF_TIME
        self.idle = False
        self.high: int | None = None
        self.gone: int | None = None  # the latest time of the trains that are here no more
        self.memory_bytes = 0
        self._spilled_bytes = 0
        self._pool, self._keep = pool, keep
        self._trains: deque[Train] = deque()
        self._read: dict[str, int] = {}
        self._behind: dict[str, None] = {}  # those that trains wait for, in the order they came

    def append(self, train: Train) -> None:
        """Add the next train; over the bound it goes to disk at once."""
        with self._pool.lock:
            if train.info.number != self.written + 1:
                raise ValueError(f"{self.key}: {train.info.number} does not follow {self.written}")
            self._keep_within_bounds(train)
            self._trains.append(train)
            self._took(train.rows.memory_bytes)
            self.note(train.info)
            number = train.info.number  # a reader may be ahead of trains that are read again
            self._behind = {reader: None for reader, at in self._read.items() if at < number}
            self._pool.stir(self._behind)
            self._note_behind()
            self._purge()

    def note(self, info: TrainInfo) -> None:
        """Remember what the latest train says of the stream."""
        self.written, self.watermark, self.idle = info.number, info.watermark, info.idle
        if info.last is not None:
            self.high = info.last if self.high is None else max(self.high, info.last)

    def register(self, reader: str, after: int | None = None) -> None:
        """Add a reader that begins behind train `after`, or behind the last one written."""
        with self._pool.lock:
            self._read.setdefault(reader, self.written if after is None else after)
            self._place(reader)

    def unregister(self, reader: str) -> None:
        """Remove a reader; what only it waited for goes."""
        with self._pool.lock:
            self._read.pop(reader, None)
            self._behind.pop(reader, None)
            self._note_behind()
            self._purge()

    def readers(self) -> dict[str, int]:
        """Return how far each reader has come."""
        with self._pool.lock:
            return dict(self._read)

    def behind(self) -> list[str]:
        """Return the readers that have trains to read, in the order in which they registered."""
        with self._pool.lock:
            return list(self._behind)

    def waiting(self, reader: str) -> list[Train]:
        """Return the trains that the reader has not read, oldest first; none for one that is gone.

        Those who only look may ask while it goes.
        """
        with self._pool.lock:
            if reader not in self._behind:
                return []
            done = self._read[reader]
            return [train for train in self._trains if train.info.number > done]

    def advance(self, reader: str, number: int) -> None:
        """Note that the reader is done with trains up to `number`, and purge."""
        with self._pool.lock:
            self._read[reader] = max(number, self._read.get(reader, 0))
            self._place(reader)
            self._purge()

    def unread(self, by: Container[str] | None = None) -> list[Train]:
        """Return the trains that some reader, or one of those named, still needs."""
        with self._pool.lock:
            late = self._behind
            places = [self._read[reader] for reader in late if by is None or reader in by]
            if not places:
                return []
            slowest = min(places)
            return [train for train in self._trains if train.info.number > slowest]

    def held(self) -> list[Train]:
        """Return the trains that are still here, read or not; hold the pool's lock to read them."""
        with self._pool.lock:
            return list(self._trains)

    def to_table(self, without: Callable[[int], bool] = lambda _: False) -> pa.Table:
        """Return the rows of all trains that are still here, read or not.

        `without` says of a train's number whether it is left out.
        """
        with self._pool.lock:
            wanted = [train.rows for train in self._trains if not without(train.info.number)]
            tables = [rows.to_table(self.schema) for rows in wanted]
            return pa.concat_tables([empty_table(self.schema), *tables])

    def figures(self) -> BufferFigures:
        """Return what is here: queued trains and rows are those with a reader to come."""
        with self._pool.lock:
            unread = self.unread()
            return BufferFigures(
                trains=len(unread),
                rows=sum(train.rows.count for train in unread),
                memory_bytes=self.memory_bytes,
                disk_bytes=sum(train.rows.disk_bytes for train in self._trains),
                spilled_bytes=self._spilled_bytes,
            )

    def clear(self) -> None:
        """Drop every train."""
        while self._trains:
            self._trains.popleft().rows.delete()
        self._took(-self.memory_bytes)
        self._behind.clear()
        self._note_behind()

    def _took(self, size: int) -> None:
        self.memory_bytes += size
        self._pool.took(size)

    def _place(self, reader: str) -> None:
        """Note whether trains wait for a reader, by where it is now."""
        last = self._trains[-1].info.number if self._trains else 0
        self._pool.stir((reader,))
        if self._read[reader] < last:
            self._behind[reader] = None
        else:
            self._behind.pop(reader, None)
        self._note_behind()

    def _note_behind(self) -> None:
        self._pool.note_behind(self, bool(self._behind))

    def _keep_within_bounds(self, train: Train) -> None:
        size, bounds = train.rows.memory_bytes, self._pool.bounds
        if not size:
            return
        self._purge(room_for=size)
        if (
            self.memory_bytes + size > bounds.buffer_bytes
            or self._pool.memory_bytes() + size > bounds.total_bytes
        ):
            train.rows.leave_memory(self._pool.spill)
            self._spilled_bytes += size

    def _purge(self, room_for: int = 0) -> None:
        spare = self._pool.bounds.keep_bytes - room_for
        if not self._trains or self._may_stay(spare):  # looked at first: readers may be many
            return
        slowest = min((self._read[reader] for reader in self._behind), default=self.written)
        while self._trains and self._trains[0].info.number <= slowest:
            if self._may_stay(spare):
                break
            gone = self._trains.popleft()
            self._took(-gone.rows.memory_bytes)
            self._note_gone(gone.info)
            gone.rows.delete()

    def _may_stay(self, spare: int) -> bool:
        """Say whether the oldest train may stay even where all readers have read it."""
        rows = self._trains[0].rows
        costs_no_disk = rows.table is not None or not rows.owned
        return costs_no_disk and self.memory_bytes <= spare and len(self._trains) <= self._keep

    def _note_gone(self, info: TrainInfo) -> None:
        if info.last is not None:
            self.gone = info.last if self.gone is None else max(self.gone, info.last)
