"""The shelf: the small deliveries of all queries in one SQLite file, and an index of all of them.

A thousand queries that give a few rows a second would otherwise be millions of files. Records are
in the kernel's hands when a call returns: they outlive the process, and a power cut may take the
last ones.
"""

import errno
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import DiskFullError, HomeError

GONE, HERE, IN_FILE = 0, 1, 2  # where a delivery's rows are
# Bodies lie apart, in the order in which they came, so that the index stays small.
TABLES = """
CREATE TABLE IF NOT EXISTS deliveries (
    query TEXT, number INTEGER, rows INTEGER NOT NULL, size INTEGER NOT NULL,
    place INTEGER NOT NULL, body INTEGER, PRIMARY KEY (query, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
"""
WITH_BODY = "FROM deliveries AS d LEFT JOIN bodies AS b ON b.id = d.body WHERE d.query = ?"
BODIES_OF = "DELETE FROM bodies WHERE id IN (SELECT body FROM deliveries WHERE query = ?"


@dataclass(frozen=True, slots=True)
class Shelved:
    """One delivery: how many rows it has, what it takes, and its body unless that is elsewhere."""

    number: int
    rows: int
    size: int
    place: int = HERE
    body: bytes | None = None


class ResultShelf:
    """Deliveries by query and number; several threads may use it."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._lock = threading.RLock()
        self._closed = False
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            with self._explained():
                self._file.execute("PRAGMA journal_mode = WAL")
                self._file.execute("PRAGMA synchronous = NORMAL")
                self._file.executescript(TABLES)
        except BaseException:
            self._file.close()
            raise

    def close(self) -> None:
        """Let go of the file; those who read may read on."""
        with self._lock:
            self._closed = True
            self._file.close()

    def put(self, query: str, one: Shelved) -> None:
        """Keep a delivery; of its number nothing but how many rows it had may be known."""
        with self._step():
            body = None
            if one.body is not None:
                body = self._run("INSERT INTO bodies (body) VALUES (?)", one.body).lastrowid
            row = (query, one.number, one.rows, one.size, one.place, body)
            self._run("INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?)", *row)

    def extent(self, query: str) -> tuple[int, int, int] | None:
        """Return the first and the last number of what is kept of a query, and its size."""
        found = self._rows(
            "SELECT min(number), max(number), sum(size) FROM deliveries "
            "WHERE query = ? AND place > 0",
            query,
        )
        return None if found[0][0] is None else found[0]

    def find(self, query: str, number: int) -> Shelved | None:
        """Return what is known of a delivery, without its body."""
        found = self._rows(
            "SELECT number, rows, size, place FROM deliveries WHERE query = ? AND number = ?",
            query,
            number,
        )
        return Shelved(*found[0]) if found else None

    def next(self, query: str, after: int) -> Shelved | None:
        """Return the first delivery above a number that is kept, with its body."""
        found = self._rows(
            f"SELECT d.number, d.rows, d.size, d.place, b.body {WITH_BODY} "
            "AND d.number > ? AND d.place > 0 ORDER BY d.number LIMIT 1",
            query,
            after,
        )
        return Shelved(*found[0]) if found else None

    def following(self, query: str, number: int) -> int:
        """Return the number of the first delivery above a number that is kept, 0 without one."""
        found = self._rows(
            "SELECT number FROM deliveries WHERE query = ? AND number > ? AND place > 0 "
            "ORDER BY number LIMIT 1",
            query,
            number,
        )
        return found[0][0] if found else 0

    def let_go(self, query: str, number: int) -> None:
        """Keep nothing of a delivery but how many rows it had."""
        with self._step():
            self._run(f"{BODIES_OF} AND number = ?)", query, number)
            self._run(
                "UPDATE deliveries SET place = 0, size = 0, body = NULL "
                "WHERE query = ? AND number = ?",
                query,
                number,
            )

    def forget(self, query: str, below: int = sys.maxsize) -> None:
        """Forget that there were deliveries below a number."""
        with self._step():
            self._run(f"{BODIES_OF} AND number < ?)", query, below)
            self._run("DELETE FROM deliveries WHERE query = ? AND number < ?", query, below)

    def forget_above(self, query: str, number: int) -> None:
        """Forget that there were deliveries above a number."""
        with self._step():
            self._run(f"{BODIES_OF} AND number > ?)", query, number)
            self._run("DELETE FROM deliveries WHERE query = ? AND number > ?", query, number)

    def gone(self, query: str, first: int, end: int) -> tuple[int, int]:
        """Return how many deliveries from `first` to below `end` are known as gone, and rows."""
        found = self._rows(
            "SELECT count(*), sum(rows) FROM deliveries "
            "WHERE query = ? AND number >= ? AND number < ? AND place = 0",
            query,
            first,
            end,
        )
        return found[0][0], found[0][1] or 0

    def _run(self, statement: str, *values: Any) -> sqlite3.Cursor:
        return self._file.execute(statement, values)

    @contextmanager
    def _step(self) -> Iterator[None]:
        """Do all of the block, or none of it."""
        with self._lock, self._explained():
            self._run("BEGIN IMMEDIATE")
            try:
                yield
                self._run("COMMIT")
            except BaseException:
                if self._file.in_transaction:
                    self._run("ROLLBACK")
                raise

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._lock, self._explained():
            if not self._closed:
                return self._file.execute(statement, values).fetchall()
            with closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)) as reading:
                return reading.execute(statement, values).fetchall()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says into errors a user can act on."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
            if code == sqlite3.SQLITE_FULL or getattr(error, "errno", None) == errno.ENOSPC:
                raise DiskFullError(
                    f"no room left for {self._path}", hint="free some room, then RESUME"
                ) from error
            raise HomeError(
                f"the results {self._path} cannot be used: {error}",
                hint="only results of the past are in it: it may be removed",
            ) from error
