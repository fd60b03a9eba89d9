"""The result log: a query's last deliveries, for those who come later or come back."""

import io
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from penstock.engine.sinks.sink import Delivery
from penstock.engine.sinks.whole_file import remove_drafts, write_whole
from penstock.errors import HomeError

KEEP_BYTES = 64 << 20
BLOCK = 4096  # what the smallest file takes on most disks
REMEMBERED = 100_000  # counts of removed deliveries: a day of one a second, in 10 MB
NAME = re.compile(r"(\d{10,})-(\d+)\.arrow")


@dataclass(frozen=True, slots=True)
class _Kept:
    path: Path
    rows: int
    size: int


class ResultLog:
    """Deliveries of one query as Arrow files, the oldest removed once they take `keep_bytes`.

    Appending a number again changes nothing, so that a replay is safe. The newest delivery is
    always kept. Files are not forced to disk: after a power cut some may be missing, and are
    then treated as removed.
    """

    def __init__(self, directory: Path, query: str, *, keep_bytes: int = KEEP_BYTES) -> None:
        self._directory = directory
        self._query = query
        self._keep_bytes = keep_bytes
        self._lock = threading.Lock()
        self._gone: dict[int, int] = {}
        try:
            directory.mkdir(parents=True, exist_ok=True)
            remove_drafts(directory)
            self._kept = dict(sorted(_found(directory)))
        except OSError as error:
            raise self._unusable(error) from error
        self._size = sum(kept.size for kept in self._kept.values())

    @property
    def first(self) -> int:
        """Return the oldest number that is kept, 1 where nothing is."""
        with self._lock:
            return next(iter(self._kept), 1)

    @property
    def last(self) -> int:
        """Return the newest number that is kept, 0 where nothing is."""
        with self._lock:
            return next(reversed(self._kept), 0)

    def append(self, delivery: Delivery) -> None:
        """Keep a delivery; a number again, or one behind the log's reach, changes nothing."""
        with self._lock:
            if delivery.number in self._kept or delivery.number < next(iter(self._kept), 0):
                return
            name = f"{delivery.number:010d}-{delivery.rows.num_rows}.arrow"
            data = _packed(delivery.rows)
            path = self._directory / name
            try:
                write_whole(path, data, sync=False)
            except OSError as error:
                raise self._unusable(error) from error
            self._keep(delivery.number, _Kept(path, delivery.rows.num_rows, _taken(len(data))))

    def read_after(self, number: int) -> Iterator[Delivery]:
        """Walk the deliveries above that number, also those that come meanwhile."""
        while (found := self._next(number)) is not None:
            number, kept = found
            if (rows := _unpacked(kept.path)) is not None:
                yield Delivery(self._query, number, rows)
            else:
                self._lost(number)

    def table(self) -> pa.Table | None:
        """Return all rows that are kept, or None where no delivery is.

        A query that was defined anew may give other columns: those of the newest delivery count.
        """
        tables = [delivery.rows for delivery in self.read_after(0)]
        alike = [table for table in tables if table.schema.equals(tables[-1].schema)]
        return pa.concat_tables(alike) if alike else None

    def rows_gone(self, first: int, end: int) -> int | None:
        """Return how many rows the deliveries from `first` to below `end` had, all removed.

        None where that is not known: only removals since this log was opened are remembered.
        """
        with self._lock:
            if end - first > len(self._gone):  # also keeps a walk from the very start short
                return None
            counts = [self._gone.get(number) for number in range(first, end)]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def clear(self) -> None:
        """Remove everything: the query is gone, or is another one now."""
        with self._lock:
            for number in list(self._kept):
                self._remove(number)
            self._gone.clear()

    def _keep(self, number: int, kept: _Kept) -> None:
        in_turn = number > next(reversed(self._kept), 0)
        self._kept[number] = kept
        if not in_turn:  # a replay fills a place whose file was lost
            self._kept = dict(sorted(self._kept.items()))
        self._size += kept.size
        while self._size > self._keep_bytes and len(self._kept) > 1:
            self._remove(next(iter(self._kept)))

    def _remove(self, number: int) -> None:
        kept = self._kept.pop(number)
        self._size -= kept.size
        kept.path.unlink(missing_ok=True)
        self._gone[number] = kept.rows
        if len(self._gone) > REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _next(self, number: int) -> tuple[int, _Kept] | None:
        with self._lock:
            if (kept := self._kept.get(number + 1)) is not None:
                return number + 1, kept
            if number >= next(reversed(self._kept), 0):
                return None
            return next(pair for pair in self._kept.items() if pair[0] > number)

    def _lost(self, number: int) -> None:
        """Treat a file that is not there, or not whole, as removed."""
        with self._lock:
            if number in self._kept:
                self._remove(number)

    def _unusable(self, error: OSError) -> HomeError:
        return HomeError(f"the result log {self._directory} cannot be used: {error}")


def _found(directory: Path) -> Iterator[tuple[int, _Kept]]:
    for path in directory.iterdir():
        if (name := NAME.fullmatch(path.name)) is not None:
            yield int(name[1]), _Kept(path, int(name[2]), _taken(path.stat().st_size))


def _taken(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _packed(rows: pa.Table) -> pa.Buffer:
    out = pa.BufferOutputStream()
    with pa.ipc.new_file(out, rows.schema) as writer:
        writer.write_table(rows)
    return out.getvalue()


def _unpacked(path: Path) -> pa.Table | None:
    try:
        # Read, not mapped: a reader may hold many, and a process may map only so many files.
        return pa.ipc.open_file(io.BytesIO(path.read_bytes())).read_all()
    except (FileNotFoundError, pa.ArrowInvalid):
        return None
