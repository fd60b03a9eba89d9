"""The result index: where each delivery is, and the small ones themselves, in one SQLite file.

A thousand queries that give a few rows a second would otherwise be millions of files. Records are
in the kernel's hands when a call returns: they outlive the process, and a power cut may take the
last ones.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.database import Database, DatabaseFormat, rows_of
from penstock.errors import ClosedError

GONE, HERE, IN_FILE = 0, 1, 2  # where a delivery's rows are
# Bodies lie apart, in the order in which they came, so that the index stays small.
FORMAT = DatabaseFormat(
    "the index of results",
    """
CREATE TABLE deliveries (
    query TEXT, number INTEGER, rows INTEGER NOT NULL, size INTEGER NOT NULL,
    place INTEGER NOT NULL, body INTEGER, PRIMARY KEY (query, number)) WITHOUT ROWID;
CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
""",
    damaged="only results of the past are in it: it may be removed",
)
WITH_BODY = "FROM deliveries AS d LEFT JOIN bodies AS b ON b.id = d.body WHERE d.query = ?"
BODIES_OF = "DELETE FROM bodies WHERE id IN (SELECT body FROM deliveries WHERE query = ?"


@dataclass(frozen=True, slots=True)
class IndexedDelivery:
    """One delivery: how many rows it has, what it takes, and its body unless that is elsewhere."""

    number: int
    rows: int
    size: int
    place: int = HERE
    body: bytes | None = None


class ResultIndex:
    """Deliveries by query and number; several threads may use it."""

    def __init__(self, path: Path) -> None:
        self._file = Database(path, FORMAT)

    def close(self) -> None:
        """Close the file; open readers may read on."""
        self._file.close()

    def put(self, query: str, one: IndexedDelivery) -> None:
        """Keep a delivery; of its number nothing but how many rows it had may be known."""
        with self._file.transaction():
            body = None
            if one.body is not None:
                body = self._file.execute(
                    "INSERT INTO bodies (body) VALUES (?)", one.body
                ).lastrowid
            row = (query, one.number, one.rows, one.size, one.place, body)
            self._file.execute("INSERT OR REPLACE INTO deliveries VALUES (?, ?, ?, ?, ?, ?)", *row)

    def extent(self, query: str) -> tuple[int, int, int] | None:
        """Return the first and the last number of what is kept of a query, and its size."""
        found = self._rows(
            "SELECT min(number), max(number), sum(size) FROM deliveries "
            "WHERE query = ? AND place > 0",
            query,
        )
        return None if found[0][0] is None else found[0]

    def find(self, query: str, number: int) -> IndexedDelivery | None:
        """Return what is known of a delivery, without its body."""
        found = self._rows(
            "SELECT number, rows, size, place FROM deliveries WHERE query = ? AND number = ?",
            query,
            number,
        )
        return IndexedDelivery(*found[0]) if found else None

    def next(self, query: str, after: int) -> IndexedDelivery | None:
        """Return the first delivery above a number that is kept, with its body."""
        found = self._rows(
            f"SELECT d.number, d.rows, d.size, d.place, b.body {WITH_BODY} "
            "AND d.number > ? AND d.place > 0 ORDER BY d.number LIMIT 1",
            query,
            after,
        )
        return IndexedDelivery(*found[0]) if found else None

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
        with self._file.transaction():
            self._file.execute(f"{BODIES_OF} AND number = ?)", query, number)
            self._file.execute(
                "UPDATE deliveries SET place = 0, size = 0, body = NULL "
                "WHERE query = ? AND number = ?",
                query,
                number,
            )

    def forget(self, query: str, below: int = sys.maxsize) -> None:
        """Forget that there were deliveries below a number."""
        with self._file.transaction():
            self._file.execute(f"{BODIES_OF} AND number < ?)", query, below)
            self._file.execute(
                "DELETE FROM deliveries WHERE query = ? AND number < ?", query, below
            )

    def forget_above(self, query: str, number: int) -> None:
        """Forget that there were deliveries above a number."""
        with self._file.transaction():
            self._file.execute(f"{BODIES_OF} AND number > ?)", query, number)
            self._file.execute(
                "DELETE FROM deliveries WHERE query = ? AND number > ?", query, number
            )

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

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        try:
            return self._file.rows(statement, *values)
        except ClosedError:
            return rows_of(self._file.path, FORMAT, statement, *values)
