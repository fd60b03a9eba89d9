"""A catalog in SQL: one SQLite file, which is the default, or a schema of PostgreSQL.

In a file, definitions are on disk when the call, or `together`, returns. A state alone is then in
the kernel's hands: a power cut may take it, and what made it so makes it so again. A thousand
queries that end at once would otherwise wait a thousand times for the disk.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.catalog.catalog import CatalogEntry, Kind
from penstock.catalog.names import check_free, folded, unknown
from penstock.database import COPY, Database, DatabaseFormat, SqlDatabase
from penstock.errors import HomeError
from penstock.model.definitions import QueryState

FORMAT = DatabaseFormat(
    "catalog",
    # AUTOINCREMENT never gives a number twice, also after its row is gone.
    """
CREATE TABLE entries (
  incarnation INTEGER PRIMARY KEY AUTOINCREMENT,
  folded TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  state TEXT,
  cause TEXT NOT NULL
)
""",
    application=0x50454E53,  # "PENS", where SQLite keeps whose file it is
)
POSTGRES_TABLES = """
CREATE TABLE IF NOT EXISTS entries (
  incarnation BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  folded TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  state TEXT,
  cause TEXT NOT NULL
)
"""
COLUMNS = "kind, name, text, incarnation, state, cause"


class SqlCatalog:
    """Entries in a database; several threads may share this object."""

    def __init__(self, database: SqlDatabase, place: str) -> None:
        """Keep them there; errors say that it is at that place."""
        self._file, self._place = database, place

    def put(self, kind: Kind, name: str, text: str, *, replace: bool = False) -> CatalogEntry:
        with self.together():
            check_free(kind, name, self._find(name), replace=replace)
            self._file.execute("DELETE FROM entries WHERE folded = ?", folded(name))
            ((number,),) = self._file.rows(
                "INSERT INTO entries (folded, kind, name, text, cause) VALUES (?, ?, ?, ?, '') "
                "RETURNING incarnation",
                *(folded(name), kind, name, text),
            )
            return CatalogEntry(kind, name, text, number)

    def amend(self, name: str, text: str) -> None:
        with self.together():
            self._change(name, "text = ?", text)

    def get(self, name: str) -> CatalogEntry | None:
        return self._find(name)

    def remove(self, name: str) -> None:
        with self.together():
            done = self._file.execute("DELETE FROM entries WHERE folded = ?", folded(name))
            if not done.rowcount:
                raise unknown(name)

    def all(self) -> list[CatalogEntry]:
        rows = self._file.rows(f"SELECT {COLUMNS} FROM entries ORDER BY incarnation")
        return [self._entry(*row) for row in rows]

    def set_state(self, name: str, state: QueryState, cause: str = "") -> None:
        with self._file.transaction():
            self._change(name, "state = ?, cause = ?", state.value, cause)

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._file.transaction(to_disk=True):
            yield

    def close(self) -> None:
        self._file.close()

    def _change(self, name: str, parts: str, *values: str) -> None:
        done = self._file.execute(
            f"UPDATE entries SET {parts} WHERE folded = ?", *values, folded(name)
        )
        if not done.rowcount:
            raise unknown(name)

    def _find(self, name: str) -> CatalogEntry | None:
        found = self._file.rows(f"SELECT {COLUMNS} FROM entries WHERE folded = ?", folded(name))
        return self._entry(*found[0]) if found else None

    def _entry(
        self, kind: Kind, name: str, text: str, incarnation: int, state: str | None, cause: str
    ) -> CatalogEntry:
        try:
            known = QueryState(state) if state else None
        except ValueError as error:
            raise HomeError(f"catalog {self._place} cannot be used: {error}", hint=COPY) from error
        return CatalogEntry(kind, name, text, incarnation, known, cause)


class SqliteCatalog(SqlCatalog):
    """Entries in a file, made where there is none."""

    def __init__(self, path: Path) -> None:
        super().__init__(Database(path, FORMAT), str(path))
