"""The journal in one SQLite file.

Write-ahead logging with synchronous=NORMAL: a record that was acknowledged is in the kernel's
hands, so it outlives the death of this process, kill -9 included, at some 15 µs a record. A power
cut or a kernel crash may take the last records with it (never the file, and always the newest
first); `sync=True` waits for the disk at every step, for those who need that too. A step with a
checkpoint always waits for the disk, because the state that it replaces is removed after it.
"""

import errno
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from penstock.errors import DiskFullError, HomeError, PenstockError
from penstock.model.time_outs import TimeOuts
from penstock.qos.worths import Cut
from penstock.runtime.journal import (
    Checkpoint,
    Keeps,
    Ranges,
    RecordedRun,
    RecordedTrain,
    not_next,
    run_body,
    run_from,
    sealed,
    train_body,
    train_from,
    unsealed,
    with_time_outs,
)

FORMAT = 1
ALMOST_FULL = 64 << 10  # SQLite calls some failures on a full disk I/O errors; below this we know

# `trimmed` is where a log begins whose records are gone: the next number must still be known.
TABLES = """
CREATE TABLE trains (
    name TEXT, number INTEGER, body TEXT NOT NULL, PRIMARY KEY (name, number)) WITHOUT ROWID;
CREATE TABLE runs (
    name TEXT, number INTEGER, body TEXT NOT NULL, PRIMARY KEY (name, number)) WITHOUT ROWID;
CREATE TABLE trimmed (
    log TEXT, name TEXT, number INTEGER NOT NULL, PRIMARY KEY (log, name)) WITHOUT ROWID;
CREATE TABLE deliveries (
    query TEXT PRIMARY KEY, number INTEGER NOT NULL, rows INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE checkpoints (number INTEGER PRIMARY KEY, manifest TEXT NOT NULL);
"""
LOGS = ("trains", "runs")
LAST = {
    log: f"""
    SELECT max(coalesce((SELECT max(number) FROM {log} WHERE name = ?1), 0),
               coalesce((SELECT number FROM trimmed WHERE log = '{log}' AND name = ?1), 0))"""
    for log in LOGS
}
# One statement a record, so that it is whole without a transaction around it.
RECORD = {log: f"INSERT INTO {log} SELECT ?1, ?2, ?3 WHERE ?2 = 1 + ({LAST[log]})" for log in LOGS}
RECORD_DELIVERY = """
INSERT INTO deliveries SELECT ?1, ?2, ?3
WHERE ?2 = 1 + coalesce((SELECT number FROM deliveries WHERE query = ?1), 0)
ON CONFLICT (query) DO UPDATE SET number = excluded.number, rows = rows + excluded.rows
"""
RUN = "SELECT number, body FROM runs WHERE name = ? AND number = ?"
CHANGE_RUN = "UPDATE runs SET body = ? WHERE name = ? AND number = ?"
REMEMBER_TRIM = {
    log: f"""
    INSERT INTO trimmed
    SELECT '{log}', ?1, max(number) FROM {log} WHERE name = ?1 AND number <= ?2
    HAVING max(number) > 0
    ON CONFLICT (log, name) DO UPDATE SET number = excluded.number"""
    for log in LOGS
}


class SqliteJournal:
    """A journal that survives its process; one process at a time (the home's lock sees to it)."""

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._in_step = False
        self._failed: PenstockError | None = None  # what went wrong in this step
        self._to_disk = False  # wait for the disk at the end of this step
        self._level = "FULL" if sync else "NORMAL"
        with self._explained():
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            with self._explained():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def record_train(
        self, stream: str, number: int, boundary: Mapping[str, Any], arrived: float
    ) -> None:
        self._record("trains", stream, number, train_body(boundary, arrived))

    def trains_after(self, stream: str, number: int) -> list[RecordedTrain]:
        return [train_from(stream, n, body) for n, body in self._after("trains", stream, number)]

    def record_run(
        self, unit: str, number: int, inputs: Ranges, keeps: Keeps = (), cut: Cut | None = None
    ) -> None:
        self._record("runs", unit, number, run_body(inputs, keeps, cut))

    def note_time_outs(self, unit: str, number: int, found: TimeOuts) -> None:
        with self._lock:
            for _, body in self._rows(RUN, unit, number):
                self._execute(CHANGE_RUN, with_time_outs(body, found), unit, number)

    def runs_after(self, unit: str, number: int) -> list[RecordedRun]:
        return [run_from(unit, n, body) for n, body in self._after("runs", unit, number)]

    def take_back_runs(self, unit: str, after: int) -> None:
        self._execute("DELETE FROM runs WHERE name = ? AND number > ?", unit, after)

    def record_delivery(self, query: str, number: int, rows: int) -> None:
        with self._lock:
            if not self._execute(RECORD_DELIVERY, query, number, rows).rowcount:
                raise not_next("delivery", query, number, self.last_delivery(query))

    def last_delivery(self, query: str) -> int:
        return self._number("SELECT number FROM deliveries WHERE query = ?", query)

    def delivered_rows(self, query: str) -> int:
        return self._number("SELECT rows FROM deliveries WHERE query = ?", query)

    def write_checkpoint(
        self,
        manifest: Mapping[str, Any],
        *,
        trains: Mapping[str, int],
        runs: Mapping[str, int],
        keep: int | None = None,
    ) -> int:
        body = sealed(manifest)
        with self.together():
            self._to_disk = True
            number = 1 + self._number("SELECT max(number) FROM checkpoints")
            self._execute("INSERT INTO checkpoints VALUES (?, ?)", number, body)
            self._execute(
                "DELETE FROM checkpoints WHERE number < ? AND number <> ?", number, keep or 0
            )
            self._trim("trains", trains)
            self._trim("runs", runs)
        return number

    def checkpoints(self) -> list[int]:
        return [n for (n,) in self._rows("SELECT number FROM checkpoints ORDER BY number DESC")]

    def checkpoint(self, number: int) -> Checkpoint:
        ((body,),) = self._rows("SELECT manifest FROM checkpoints WHERE number = ?", number)
        return Checkpoint(number, unsealed(body))

    def last_checkpoint(self) -> Checkpoint | None:
        numbers = self.checkpoints()
        return self.checkpoint(numbers[0]) if numbers else None

    def forget_checkpoint(self, number: int) -> None:
        """Forget a checkpoint that is damaged."""
        with self.together():
            self._to_disk = True
            self._execute("DELETE FROM checkpoints WHERE number = ?", number)

    def forget_stream(self, stream: str) -> None:
        self._forget("trains", stream)

    def forget_unit(self, unit: str) -> None:
        self._forget("runs", unit)

    def forget_query(self, query: str) -> None:
        self._execute("DELETE FROM deliveries WHERE query = ?", query)

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._lock:
            if self._in_step:
                yield
                return
            self._execute("BEGIN IMMEDIATE")
            self._in_step = True
            try:
                yield
                self._commit()
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._in_step, self._failed, self._to_disk = False, None, False

    def close(self) -> None:
        with self._lock, suppress(sqlite3.Error):  # what was acknowledged is in the log as it is
            self._connection.close()

    def _prepare(self) -> None:
        if (mode := self._rows("PRAGMA journal_mode = WAL")[0][0]) != "wal":
            raise HomeError(
                f"the journal {self._path} cannot write ahead ({mode})",
                hint="put the home on a local file system",
            )
        self._connection.execute(f"PRAGMA synchronous = {self._level}")
        found = self._number("PRAGMA user_version")
        if found > FORMAT:
            raise HomeError(
                f"the journal {self._path} has format {found}, and this Penstock knows {FORMAT}",
                hint="run the newer Penstock that made it",
            )
        if found == 0:
            with self.together():
                for statement in TABLES.strip().split(";\n"):
                    self._execute(statement)
                self._execute(f"PRAGMA user_version = {FORMAT}")
        if (damage := self._rows("PRAGMA quick_check(1)")[0][0]) != "ok":
            raise self._corrupt(damage)

    def _record(self, log: str, name: str, number: int, body: str) -> None:
        with self._lock:
            if not self._execute(RECORD[log], name, number, body).rowcount:
                raise not_next(log.removesuffix("s"), name, number, self._number(LAST[log], name))

    def _after(self, log: str, name: str, number: int) -> list[Any]:
        return self._rows(
            f"SELECT number, body FROM {log} WHERE name = ? AND number > ? ORDER BY number",
            name,
            number,
        )

    def _trim(self, log: str, upto: Mapping[str, int]) -> None:
        """Forget records; of a thousand queries only few may have any."""
        held = (name for (name,) in self._rows(f"SELECT DISTINCT name FROM {log}"))
        places = [(name, upto[name]) for name in held if name in upto]
        self._execute_all(REMEMBER_TRIM[log], places)
        self._execute_all(f"DELETE FROM {log} WHERE name = ? AND number <= ?", places)

    def _forget(self, log: str, name: str) -> None:
        with self.together():
            self._execute(f"DELETE FROM {log} WHERE name = ?", name)
            self._execute("DELETE FROM trimmed WHERE log = ? AND name = ?", log, name)

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        with self._lock, self._explained():
            return self._connection.execute(statement, values).fetchall()

    def _number(self, statement: str, *values: Any) -> int:
        found = self._rows(statement, *values)
        return int(found[0][0] or 0) if found else 0

    def _execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        with self._lock, self._explained():
            if self._failed:  # SQLite may have ended the transaction: nothing may follow it alone
                raise self._failed
            return self._connection.execute(statement, values)

    def _execute_all(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._lock, self._explained():
            if self._failed:
                raise self._failed
            self._connection.executemany(statement, rows)

    def _commit(self) -> None:
        self._execute("COMMIT")
        if self._to_disk:
            with self._explained():
                self._sync()

    def _sync(self) -> None:
        """Put the log of records on disk, and its name."""
        for path in (self._path.with_name(f"{self._path.name}-wal"), self._path.parent):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what SQLite says into errors a user can act on."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            told = self._told(error)
            if self._in_step:
                self._failed = told
            raise told from error

    def _told(self, error: sqlite3.Error | OSError) -> PenstockError:
        if self._is_full(error):
            return DiskFullError(
                f"no room left for the journal {self._path}",
                hint="free some room and start again: everything that was recorded is still there",
            )
        code = getattr(error, "sqlite_errorcode", None) or 0
        if code & 0xFF in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            return self._corrupt(str(error))
        return HomeError(f"the journal {self._path} cannot be used: {error}")

    def _is_full(self, error: sqlite3.Error | OSError) -> bool:
        if isinstance(error, OSError):
            return error.errno in {errno.ENOSPC, errno.EDQUOT}
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}:
            return (
                self._path.parent.is_dir()
                and shutil.disk_usage(self._path.parent).free < ALMOST_FULL
            )
        return code == sqlite3.SQLITE_FULL

    def _corrupt(self, damage: str) -> HomeError:
        return HomeError(
            f"the journal {self._path} is damaged: {damage}",
            hint="restore it from a copy, or begin anew with it set aside: penstock repair HOME",
        )
