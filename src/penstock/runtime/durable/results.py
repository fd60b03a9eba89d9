"""The result log: a query's last deliveries, for those who come later or come back.

Small deliveries lie in the result index that all queries share, large ones are files of their own,
and of trains that tasks wrote the log has names: nobody reads them before they are asked for.
A log in memory is a few numbers, however much it holds.
"""

import io
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.sinks.sink import Delivery
from penstock.engine.sinks.whole_file import remove_drafts, write_whole
from penstock.engine.trains.rows import fit, link_or_copy
from penstock.errors import HomeError
from penstock.runtime.durable.result_index import GONE, HERE, IN_FILE, IndexedDelivery, ResultIndex

KEEP_BYTES = 64 << 20
BLOCK = 4096  # what the least delivery counts, so that no log holds too many
SMALL_BYTES = 64 << 10  # more is written once, as a file, and not twice
REMEMBERED = 10_000  # counts of removed deliveries: some hours of one a second
NAME = re.compile(r"(\d{10,})-(\d+)(?:\.arrow|-\d{5,}\.parquet)")


class ResultLog:
    """Deliveries of one query, the oldest removed once they take `keep_bytes`.

    Appending a number again changes nothing, so that a replay is safe. The newest delivery is
    always kept. Nothing is forced to disk: after a power cut some may be missing, and are
    then treated as removed.
    """

    def __init__(
        self,
        directory: Path,
        query: str,
        result_index: ResultIndex,
        *,
        keep_bytes: int = KEEP_BYTES,
        remembered: int = REMEMBERED,
    ) -> None:
        self._directory = directory
        self._query = query
        self._result_index, self._name = result_index, query.lower()
        self._keep_bytes, self._remembered = keep_bytes, remembered
        self._lock = threading.Lock()
        self._first, self._last, self._size = 1, 0, -1  # -1: not looked up yet
        try:
            directory.mkdir(parents=True, exist_ok=True)
            remove_drafts(directory)
            self._take_up_files()
        except OSError as error:
            raise self._unusable(error) from error

    @property
    def first(self) -> int:
        """Return the oldest number that is kept, 1 where nothing is."""
        with self._lock:
            self._look_up()
            return self._first

    @property
    def last(self) -> int:
        """Return the newest number that is kept, 0 where nothing is."""
        with self._lock:
            self._look_up()
            return self._last

    def append(self, delivery: Delivery) -> None:
        """Keep a delivery; a number again, or one behind the log's reach, changes nothing."""
        with self._lock:
            if not self._is_known(delivery.number):
                self._put(self._written(delivery.number, delivery.rows))

    def _is_known(self, number: int) -> bool:
        self._look_up()
        return bool(self._last) and number <= self._last and not self._is_missing(number)

    def _put(self, one: IndexedDelivery) -> None:
        """Put a delivery on the index, and remove old ones where there is too much."""
        self._result_index.put(self._name, one)
        self._first = min(self._first, one.number) if self._last else one.number
        self._last = max(self._last, one.number)
        self._size += one.size
        while self._size > self._keep_bytes and self._first < self._last:
            self._remove(self._first)

    def append_files(
        self, number: int, rows: int, paths: Sequence[Path], schema: pa.Schema
    ) -> None:
        """Keep a delivery whose rows lie in files, by giving them one more name each."""
        with self._lock:
            if self._is_known(number):
                return
            body = schema.serialize().to_pybytes()
            try:
                size = sum(path.stat().st_size for path in self._linked(number, rows, paths))
            except OSError as error:
                raise self._unusable(error) from error
            self._put(IndexedDelivery(number, rows, _blocks(size), IN_FILE, body))

    def _linked(self, number: int, rows: int, paths: Sequence[Path]) -> list[Path]:
        """Give files names of this log; what a death has left of the same delivery goes before."""
        for old in self._parts(number, rows):
            old.unlink()
        whole = self._path(number, rows)
        names = (f"{whole.stem}-{part:05d}.parquet" for part in range(len(paths)))
        return [
            link_or_copy(path, whole.with_name(name))
            for path, name in zip(paths, names, strict=True)
        ]

    def read_after(self, number: int) -> Iterator[Delivery]:
        """Walk the deliveries above that number, also those that come meanwhile."""
        while (found := self._next(number)) is not None:
            number = found.number
            if (rows := self._rows(found)) is not None:
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

        None where that is not known: not too many removals are remembered.
        """
        known, rows = self._result_index.gone(self._name, first, end)
        return rows if known == end - first else None

    def clear(self) -> None:
        """Remove everything: the query is gone, or is another one now."""
        with self._lock:
            self._result_index.forget(self._name)
            for path in self._files():
                path.unlink(missing_ok=True)
            self._first, self._last, self._size = 1, 0, 0

    def forget_above(self, number: int) -> None:
        """Remove deliveries that the journal does not know: their rows will come again."""
        with self._lock:
            if not self._result_index.following(self._name, number):
                return  # looked at first: the queries may be many
            for path in self._files():
                if int(path.name.partition("-")[0]) > number:
                    path.unlink(missing_ok=True)
            self._result_index.forget_above(self._name, number)
            self._size = -1

    def _look_up(self) -> None:
        """Load the list of what is kept at the first use: of many logs few are read."""
        if self._size < 0:
            self._first, self._last, self._size = self._result_index.extent(self._name) or (1, 0, 0)

    def _is_missing(self, number: int) -> bool:
        """Say whether a delivery within the log's reach is lost, so that a replay may fill it."""
        if number < self._first:
            return False
        known = self._result_index.find(self._name, number)
        return known is None or known.place == GONE

    def _written(self, number: int, rows: pa.Table) -> IndexedDelivery:
        if rows.nbytes <= SMALL_BYTES:
            data = _packed(rows)
            return IndexedDelivery(
                number, rows.num_rows, _blocks(len(data)), HERE, data.to_pybytes()
            )
        path = self._path(number, rows.num_rows)
        try:
            write_whole(path, lambda file: _write(rows, file), sync=False)
            size = path.stat().st_size
        except OSError as error:
            raise self._unusable(error) from error
        return IndexedDelivery(number, rows.num_rows, _blocks(size), IN_FILE)

    def _rows(self, one: IndexedDelivery) -> pa.Table | None:
        """Return a delivery's rows, or None where its file is not there or not whole."""
        try:
            if one.place == IN_FILE and one.body is not None:
                return self._from_parts(one, one.body)
            # Read, not mapped: a reader may hold many, and a process may map only so many files.
            body = one.body or self._path(one.number, one.rows).read_bytes()
            return pa.ipc.open_file(io.BytesIO(body)).read_all()
        except (OSError, pa.ArrowException, ValueError):
            return None

    def _from_parts(self, one: IndexedDelivery, body: bytes) -> pa.Table | None:
        """Return the rows of files that tasks wrote, in the schema of the query."""
        schema = pa.ipc.read_schema(pa.py_buffer(body))
        tables = [fit(pq.read_table(path), schema) for path in self._parts(one.number, one.rows)]
        whole = pa.concat_tables([schema.empty_table(), *tables])
        return whole if whole.num_rows == one.rows else None

    def _parts(self, number: int, rows: int) -> list[Path]:
        return sorted(self._directory.glob(f"{self._path(number, rows).stem}-*.parquet"))

    def _remove(self, number: int) -> None:
        """Remove the oldest delivery, or one that is lost."""
        one = self._result_index.find(self._name, number)
        if one is None or one.place == GONE:
            return
        self._result_index.let_go(self._name, number)
        if one.place == IN_FILE:
            self._path(number, one.rows).unlink(missing_ok=True)
            for part in self._parts(number, one.rows):
                part.unlink(missing_ok=True)
        if self._first == number < self._last:
            self._size -= one.size
            self._first = self._result_index.following(self._name, number)
            self._result_index.forget(self._name, self._first - self._remembered)
        else:
            self._first, self._last, self._size = self._result_index.extent(self._name) or (1, 0, 0)

    def _next(self, number: int) -> IndexedDelivery | None:
        with self._lock:
            self._look_up()
            if number >= self._last:
                return None
            return self._result_index.next(self._name, max(number, self._first - 1))

    def _lost(self, number: int) -> None:
        with self._lock:
            self._remove(number)

    def _take_up_files(self) -> None:
        """Put files that the result index does not know on it: it was lost, or made after them."""
        for path in self._files():
            found = NAME.fullmatch(path.name)
            assert found is not None  # noqa: S101  (what `_files` looks for)
            number, rows = int(found[1]), int(found[2])
            if self._result_index.find(self._name, number) is not None:
                continue
            if path.suffix == ".parquet":  # nothing says any more what its columns were
                path.unlink()
            else:
                size = _blocks(path.stat().st_size)
                self._result_index.put(self._name, IndexedDelivery(number, rows, size, IN_FILE))

    def _files(self) -> list[Path]:
        return sorted(path for path in self._directory.iterdir() if NAME.fullmatch(path.name))

    def _path(self, number: int, rows: int) -> Path:
        return self._directory / f"{number:010d}-{rows}.arrow"

    def _unusable(self, error: OSError) -> HomeError:
        return HomeError(f"the result log {self._directory} cannot be used: {error}")


def _blocks(size: int) -> int:
    """Return what so many bytes take."""
    return -(-size // BLOCK) * BLOCK


def _packed(rows: pa.Table) -> pa.Buffer:
    out = pa.BufferOutputStream()
    _write(rows, out)
    return out.getvalue()


def _write(rows: pa.Table, out: Any) -> None:
    with pa.ipc.new_file(out, rows.schema) as writer:
        writer.write_table(rows)


@dataclass(frozen=True, slots=True)
class ResultLogs:
    """The result logs of all queries; `place` says where one has its files."""

    place: Callable[[str], Path]
    index: ResultIndex

    def of(self, name: str) -> ResultLog:
        """Return a query's result log."""
        return ResultLog(self.place(name.lower()), name, self.index)
