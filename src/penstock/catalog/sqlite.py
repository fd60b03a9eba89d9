"""A catalog in one SQLite file: the default, which survives restarts.

Definitions are on disk when the call, or `together`, returns. A state alone is then in the
kernel's hands: a power cut may take it, and what made it so makes it so again. A thousand queries
that end at once would otherwise wait a thousand times for the disk.
"""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from penstock.catalog.catalog import Entry, Kind
from penstock.catalog.names import check_free, folded, unknown
from penstock.errors import ClosedError, DiskFullError, HomeBusyError, HomeError
from penstock.model.definitions import QueryState

APPLICATION = 0x50454E53  # "PENS", where SQLite keeps whose file it is
FORMAT = 1
# AUTOINCREMENT never gives a number twice, also after its row is gone.
TABLE = """
CREATE TABLE entries (
  incarnation INTEGER PRIMARY KEY AUTOINCREMENT,
  folded TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  state TEXT,
  cause TEXT NOT NULL
)
"""
COLUMNS = "kind, name, text, incarnation, state, cause"
PATIENCE = 5.0  # seconds that another process may hold the file


class SqliteCatalog:
    """Entries in a file, made where there is none; several threads may share this object."""

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._lock = threading.RLock()
        self._depth = 0
        self._to_disk = False  # wait for the disk at the end of the outermost step
        with self._told():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(
                self._path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        try:
            with self._told():
                self._prepare()
        except Exception:
            self._file.close()
            raise

    def put(self, kind: Kind, name: str, text: str, *, replace: bool = False) -> Entry:
        with self.together():
            check_free(kind, name, self._find(name), replace=replace)
            self._file.execute("DELETE FROM entries WHERE folded = ?", (folded(name),))
            row = self._file.execute(
                "INSERT INTO entries (folded, kind, name, text, cause) VALUES (?, ?, ?, ?, '')",
                (folded(name), kind, name, text),
            )
            return Entry(kind, name, text, row.lastrowid or 0)

    def amend(self, name: str, text: str) -> None:
        with self.together():
            self._change(name, "text = ?", text)

    def get(self, name: str) -> Entry | None:
        with self._lock, self._told():
            return self._find(name)

    def remove(self, name: str) -> None:
        with self.together():
            done = self._file.execute("DELETE FROM entries WHERE folded = ?", (folded(name),))
            if not done.rowcount:
                raise unknown(name)

    def all(self) -> list[Entry]:
        with self._lock, self._told():
            rows = self._file.execute(f"SELECT {COLUMNS} FROM entries ORDER BY incarnation")
            return [_entry(row) for row in rows]

    def set_state(self, name: str, state: QueryState, cause: str = "") -> None:
        with self._writing():
            self._change(name, "state = ?, cause = ?", state.value, cause)

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._writing():
            self._to_disk = True
            yield

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def _change(self, name: str, parts: str, *values: str) -> None:
        done = self._file.execute(
            f"UPDATE entries SET {parts} WHERE folded = ?", (*values, folded(name))
        )
        if not done.rowcount:
            raise unknown(name)

    def _find(self, name: str) -> Entry | None:
        row = self._file.execute(
            f"SELECT {COLUMNS} FROM entries WHERE folded = ?", (folded(name),)
        ).fetchone()
        return _entry(row) if row else None

    def _prepare(self) -> None:
        """Make the table in a new file; refuse one that is not ours, damaged, or too new."""
        owner, version = self._pragma("application_id"), self._pragma("user_version")
        (tables,) = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if owner != APPLICATION and (owner or tables):
            raise self._unusable("belongs to another program")
        if isinstance(version, int) and version > FORMAT:
            raise self._unusable("was written by a newer Penstock", hint="upgrade Penstock")
        if self._pragma("quick_check") != "ok":
            raise self._unusable("is damaged")
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        if not tables:
            self._file.execute(f"PRAGMA application_id = {APPLICATION}")
            self._file.execute(f"PRAGMA user_version = {FORMAT}")
            self._file.execute(TABLE)

    def _pragma(self, name: str) -> object:
        (value,) = self._file.execute(f"PRAGMA {name}").fetchone()
        return value

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Do all of the block, or none of it; inside another one it is a part of that."""
        with self._lock, self._told():
            inside = self._depth > 0
            self._file.execute("SAVEPOINT part" if inside else "BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._file.execute("ROLLBACK TO part" if inside else "ROLLBACK")
                if inside:
                    self._file.execute("RELEASE part")
                raise
            else:
                self._file.execute("RELEASE part" if inside else "COMMIT")
                if self._to_disk and not inside:
                    self._sync()
            finally:
                self._depth -= 1
                self._to_disk = self._to_disk and inside

    def _sync(self) -> None:
        """Put what was committed on disk: it is in the log that is written ahead."""
        with suppress(FileNotFoundError):  # where SQLite could not write ahead it has waited itself
            for path in (self._path.with_name(f"{self._path.name}-wal"), self._path.parent):
                handle = os.open(path, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell what goes wrong with the file as one of our errors."""
        try:
            yield
        except sqlite3.ProgrammingError as error:  # of the database nothing is known to be wrong
            raise ClosedError("the home is closed", hint="connect() opens it again") from error
        except sqlite3.Error as error:
            match getattr(error, "sqlite_errorcode", None):
                case sqlite3.SQLITE_BUSY:
                    raise HomeBusyError(f"another process holds {self._path}") from error
                case sqlite3.SQLITE_FULL:
                    raise DiskFullError(f"no room for {self._path}") from error
                case _:
                    raise self._unusable(f"cannot be used: {error}") from error
        except (OSError, ValueError) as error:  # ValueError: a state that there is not
            raise self._unusable(f"cannot be used: {error}") from error

    def _unusable(self, why: str, *, hint: str = "") -> HomeError:
        hint = hint or "restore it from a copy, or see what is whole: penstock check HOME"
        return HomeError(f"catalog {self._path} {why}", hint=hint)


def _entry(row: tuple[Kind, str, str, int, str | None, str]) -> Entry:
    kind, name, text, incarnation, state, cause = row
    return Entry(kind, name, text, incarnation, QueryState(state) if state else None, cause)
