"""A SQLite file in which a step is done whole or not at all, for many threads of one process."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from penstock.errors import DiskFullError, HomeError

FORMAT = 1


class StepFile:
    """Written ahead, so that what was acknowledged outlives the process, kill -9 included."""

    def __init__(self, path: Path | str, tables: str) -> None:
        """Open the file, made with these tables where it is new."""
        self._path = path
        self._lock = threading.RLock()
        with self._told():
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            (found,) = self._file.execute("PRAGMA user_version").fetchone()
            if found == 0:
                with self._step():
                    for statement in tables.strip().split(";\n"):
                        self._file.execute(statement)
                    self._file.execute(f"PRAGMA user_version = {FORMAT}")
        if found > FORMAT:
            raise HomeError(
                f"{path} has format {found}, and this Penstock knows {FORMAT}",
                hint="run the newer Penstock that made it",
            )

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._file.close()

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._lock, self._told():
            return self._file.execute(statement, values).fetchall()

    def _execute(self, statement: str, *values: Any) -> None:
        with self._lock, self._told():
            self._file.execute(statement, values)

    @contextmanager
    def _step(self) -> Iterator[None]:
        """Do all of the block, or none of it."""
        with self._lock, self._told():
            if self._file.in_transaction:
                yield
                return
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._file.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    self._file.execute("ROLLBACK")
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
                raise DiskFullError(f"no room left for {self._path}") from error
            raise HomeError(f"{self._path} cannot be used: {error}") from error
