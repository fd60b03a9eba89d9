"""A SQLite file of the home: transactions, when they reach the disk, errors that tell what to do.

Write-ahead logging with synchronous=NORMAL: what was acknowledged is in the kernel's hands, so it
outlives the death of this process, kill -9 included, at some 15 µs a statement. A power cut or a
kernel crash may take the last transactions with it (never the file, and always the newest first).
A transaction that is to outlive that as well waits for the disk (`to_disk`).
"""

import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import ClosedError, DiskFullError, HomeBusyError, HomeError, PenstockError

ALMOST_FULL = 64 << 10  # SQLite calls some failures on a full disk I/O errors; below this we know
PATIENCE = 5.0  # seconds that another process may hold the file
IN_MEMORY = Path(":memory:")  # a file that is gone with its process, for tests
COPY = "restore it from a copy, or see what is whole: penstock check HOME"


@dataclass(frozen=True, slots=True)
class DatabaseFormat:
    """What a file is called in errors, the tables that a new one gets, and their version.

    `application` marks whose file it is, where files of others may lie in its place. `damaged` is
    what a user may do about a file that is not whole.
    """

    name: str
    tables: str
    version: int = 1
    application: int = 0
    damaged: str = COPY


class Database:
    """One file for many threads of one process."""

    def __init__(self, path: Path, format_: DatabaseFormat, *, sync: bool = False) -> None:
        """Open the file, made where it is missing; with `sync`, every transaction waits for disk.

        Raises HomeError where the file is damaged, another program's, or of another version.
        """
        self.path = path if path == IN_MEMORY else path.absolute()
        self._format = format_
        self._lock = threading.RLock()
        self._depth = 0  # of transactions around this one
        self._failed: PenstockError | None = None  # what went wrong in this transaction
        self._to_disk = False  # wait for the disk at the end of this transaction
        self._named = 0  # the log whose name is on disk; SQLite begins another in its place
        with self._explained():
            self._file = sqlite3.connect(
                self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        try:
            self._prepare("FULL" if sync else "NORMAL")
        except BaseException:
            self._file.close()
            raise

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """Return all rows of a SELECT."""
        with self._lock, self._explained():
            return self._file.execute(statement, values).fetchall()

    def number(self, statement: str, *values: Any) -> int:
        """Return the first value of a SELECT; 0 where there is none."""
        found = self.rows(statement, *values)
        return int(found[0][0] or 0) if found else 0

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """Run one statement; outside of a transaction it is one of its own."""
        with self._lock, self._explained():
            self._refuse_failed()
            return self._file.execute(statement, values)

    def execute_all(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run one statement for each row; only inside a transaction."""
        with self._lock, self._explained():
            self._refuse_failed()
            self._file.executemany(statement, rows)

    @contextmanager
    def transaction(self, *, to_disk: bool = False) -> Iterator[None]:
        """Do all of the block, or none of it where it raises; other threads wait meanwhile.

        Inside another one it is a part of that: it may be taken back alone, and reaches the disk
        with the whole.
        """
        with self._lock:
            inside = self._depth > 0
            self.execute("SAVEPOINT part" if inside else "BEGIN IMMEDIATE")
            self._depth += 1
            self._to_disk = self._to_disk or to_disk
            try:
                yield
                self.execute("RELEASE part" if inside else "COMMIT")
                if self._to_disk and not inside:
                    self._sync()
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    self._file.execute("ROLLBACK TO part" if inside else "ROLLBACK")
                    if inside:
                        self._file.execute("RELEASE part")
                raise
            finally:
                self._depth -= 1
                if not inside:
                    self._failed, self._to_disk = None, False

    def close(self) -> None:
        """Close the file; what was acknowledged is in its log."""
        with self._lock, suppress(sqlite3.Error):
            self._file.close()

    def _prepare(self, level: str) -> None:
        """Make the tables in a new file; refuse one that is not ours, damaged, or too new."""
        format_, owner = self._format, self.number("PRAGMA application_id")
        tables = self.number("SELECT count(*) FROM sqlite_master")
        if owner != format_.application and (owner or tables):
            raise self._unusable("belongs to another program")
        found = self.number("PRAGMA user_version")
        if found > format_.version:
            raise self._unusable(
                f"has format {found}, and this Penstock knows {format_.version}",
                "run the newer Penstock that made it",
            )
        if (damage := self.rows("PRAGMA quick_check(1)")[0][0]) != "ok":
            raise self._unusable(f"is damaged: {damage}", format_.damaged)
        if (mode := self.rows("PRAGMA journal_mode = WAL")[0][0]) not in ("wal", "memory"):
            raise self._unusable(
                f"cannot be written ahead ({mode})", "put the home on a local file system"
            )
        self.execute(f"PRAGMA synchronous = {level}")
        if not found:
            with self.transaction():
                for statement in format_.tables.strip().split(";\n"):
                    self.execute(statement)
                self.execute(f"PRAGMA application_id = {format_.application}")
                self.execute(f"PRAGMA user_version = {format_.version}")

    def _refuse_failed(self) -> None:
        """Refuse to go on after a failure: SQLite may have ended the transaction."""
        if self._failed is not None:
            raise self._failed

    def _sync(self) -> None:
        """Put the log that is written ahead on disk, and once its name."""
        log = self.path.with_name(f"{self.path.name}-wal")
        with self._explained():
            _sync(log)
            if self._named != (number := log.stat().st_ino):
                _sync(self.path.parent)
                self._named = number

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says into errors a user can act on."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            told = self._told(error)
            if self._depth:
                self._failed = told
            raise told from error

    def _told(self, error: sqlite3.Error | OSError) -> PenstockError:
        if self._is_full(error):
            return DiskFullError(
                f"no room left for {self._format.name} {self.path}",
                hint="free some room and start again: everything that was recorded is still there",
            )
        if isinstance(
            error, sqlite3.ProgrammingError
        ):  # nothing is known to be wrong with the file
            return ClosedError("the home is closed", hint="connect() opens it again")
        match _code(error):
            case sqlite3.SQLITE_BUSY:
                return HomeBusyError(f"another process holds {self.path}")
            case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
                return self._unusable(f"is damaged: {error}", self._format.damaged)
            case _:
                return self._unusable(f"cannot be used: {error}")

    def _is_full(self, error: sqlite3.Error | OSError) -> bool:
        if isinstance(error, OSError):
            return error.errno in {errno.ENOSPC, errno.EDQUOT}
        if _code(error) in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}:
            place = self.path.parent
            return place.is_dir() and shutil.disk_usage(place).free < ALMOST_FULL
        return _code(error) == sqlite3.SQLITE_FULL

    def _unusable(self, why: str, hint: str = COPY) -> HomeError:
        return HomeError(f"{self._format.name} {self.path} {why}", hint=hint)


def rows_of(path: Path, format_: DatabaseFormat, statement: str, *values: Any) -> list[Any]:
    """Return all rows of a SELECT from a file that this process has not opened, or has closed."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as reading:
            return reading.execute(statement, values).fetchall()
    except sqlite3.Error as error:
        raise HomeError(f"{format_.name} {path} cannot be read: {error}", hint=COPY) from error


def _code(error: sqlite3.Error | OSError) -> int:
    """Return SQLite's primary code: the low byte; the rest tells it more exactly."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
