"""The journal in SQL: one SQLite file, or a schema of PostgreSQL.

In the file a step with a checkpoint waits for the disk, since the state that it replaces is removed
after it; with `sync=True` every step waits, as it does in PostgreSQL unless that is told otherwise.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.database import Database, DatabaseFormat, SqlDatabase
from penstock.model.functions.time_outs import TimeOuts
from penstock.qos.shedding.worths import WorthCut
from penstock.runtime.durable.journal import (
    Keeps,
    Ranges,
    RecordedCheckpoint,
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

# `trimmed` is where a log begins whose records are gone: the next number must still be known.
FORMAT = DatabaseFormat(
    "the journal",
    """
CREATE TABLE trains (
    name TEXT, number INTEGER, body TEXT NOT NULL, PRIMARY KEY (name, number)) WITHOUT ROWID;
CREATE TABLE runs (
    name TEXT, number INTEGER, body TEXT NOT NULL, PRIMARY KEY (name, number)) WITHOUT ROWID;
CREATE TABLE trimmed (
    log TEXT, name TEXT, number INTEGER NOT NULL, PRIMARY KEY (log, name)) WITHOUT ROWID;
CREATE TABLE deliveries (
    query TEXT PRIMARY KEY, number INTEGER NOT NULL, rows INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE checkpoints (number INTEGER PRIMARY KEY, manifest TEXT NOT NULL);
""",
    damaged="restore it from a copy, or begin anew with it set aside: penstock repair HOME",
)
POSTGRES_TABLES = """
CREATE TABLE IF NOT EXISTS trains (
    name TEXT, number BIGINT, body TEXT NOT NULL, PRIMARY KEY (name, number));
CREATE TABLE IF NOT EXISTS runs (
    name TEXT, number BIGINT, body TEXT NOT NULL, PRIMARY KEY (name, number));
CREATE TABLE IF NOT EXISTS trimmed (
    log TEXT, name TEXT, number BIGINT NOT NULL, PRIMARY KEY (log, name));
CREATE TABLE IF NOT EXISTS deliveries (
    query TEXT PRIMARY KEY, number BIGINT NOT NULL, rows BIGINT NOT NULL);
CREATE TABLE IF NOT EXISTS checkpoints (number BIGINT PRIMARY KEY, manifest TEXT NOT NULL);
"""
LOGS = ("trains", "runs")
LAST = """
SELECT {greatest}(
  coalesce((SELECT max(number) FROM {log} WHERE name = ?1), 0),
  coalesce((SELECT number FROM trimmed WHERE log = '{log}' AND name = ?1), 0))
"""
# One statement a record, so that it is whole without a transaction around it.
RECORD = """
INSERT INTO {log} SELECT CAST(?1 AS TEXT), CAST(?2 AS BIGINT), CAST(?3 AS TEXT)
WHERE CAST(?2 AS BIGINT) = 1 + ({last})
"""
RECORD_DELIVERY = """
INSERT INTO deliveries SELECT CAST(?1 AS TEXT), CAST(?2 AS BIGINT), CAST(?3 AS BIGINT)
WHERE CAST(?2 AS BIGINT) = 1 + coalesce((SELECT number FROM deliveries WHERE query = ?1), 0)
ON CONFLICT (query) DO UPDATE
SET number = excluded.number, rows = deliveries.rows + excluded.rows
"""
RUN = "SELECT number, body FROM runs WHERE name = ? AND number = ?"
CHANGE_RUN = "UPDATE runs SET body = ? WHERE name = ? AND number = ?"
REMEMBER_TRIM = {
    log: f"""
    INSERT INTO trimmed
    SELECT '{log}', CAST(?1 AS TEXT), max(number) FROM {log} WHERE name = ?1 AND number <= ?2
    HAVING max(number) > 0
    ON CONFLICT (log, name) DO UPDATE SET number = excluded.number"""
    for log in LOGS
}


class SqlJournal:
    """A journal in a database whose function for the larger of two numbers is `greatest`."""

    def __init__(self, database: SqlDatabase, *, greatest: str = "greatest") -> None:
        self._file = database
        self._last = {log: LAST.format(log=log, greatest=greatest) for log in LOGS}
        self._next = {log: RECORD.format(log=log, last=self._last[log]) for log in LOGS}

    def record_train(
        self, stream: str, number: int, boundary: Mapping[str, Any], arrived: float
    ) -> None:
        self._record("trains", stream, number, train_body(boundary, arrived))

    def trains_after(self, stream: str, number: int) -> list[RecordedTrain]:
        return [train_from(stream, n, body) for n, body in self._after("trains", stream, number)]

    def record_run(
        self, unit: str, number: int, inputs: Ranges, keeps: Keeps = (), cut: WorthCut | None = None
    ) -> None:
        self._record("runs", unit, number, run_body(inputs, keeps, cut))

    def note_time_outs(self, unit: str, number: int, found: TimeOuts) -> None:
        for _, body in self._file.rows(RUN, unit, number):
            self._file.execute(CHANGE_RUN, with_time_outs(body, found), unit, number)

    def runs_after(self, unit: str, number: int) -> list[RecordedRun]:
        return [run_from(unit, n, body) for n, body in self._after("runs", unit, number)]

    def take_back_runs(self, unit: str, after: int) -> None:
        self._file.execute("DELETE FROM runs WHERE name = ? AND number > ?", unit, after)

    def record_delivery(self, query: str, number: int, rows: int) -> None:
        if not self._file.execute(RECORD_DELIVERY, query, number, rows).rowcount:
            raise not_next("delivery", query, number, self.last_delivery(query))

    def last_delivery(self, query: str) -> int:
        return self._file.number("SELECT number FROM deliveries WHERE query = ?", query)

    def delivered_rows(self, query: str) -> int:
        return self._file.number("SELECT rows FROM deliveries WHERE query = ?", query)

    def write_checkpoint(
        self,
        manifest: Mapping[str, Any],
        *,
        trains: Mapping[str, int],
        runs: Mapping[str, int],
        keep: int | None = None,
    ) -> int:
        body = sealed(manifest)
        with self._file.transaction(to_disk=True):
            number = 1 + self._file.number("SELECT max(number) FROM checkpoints")
            self._file.execute("INSERT INTO checkpoints VALUES (?, ?)", number, body)
            self._file.execute(
                "DELETE FROM checkpoints WHERE number < ? AND number <> ?", number, keep or 0
            )
            self._trim("trains", trains)
            self._trim("runs", runs)
        return number

    def checkpoints(self) -> list[int]:
        return [
            n for (n,) in self._file.rows("SELECT number FROM checkpoints ORDER BY number DESC")
        ]

    def checkpoint(self, number: int) -> RecordedCheckpoint:
        ((body,),) = self._file.rows("SELECT manifest FROM checkpoints WHERE number = ?", number)
        return RecordedCheckpoint(number, unsealed(body))

    def forget_checkpoint(self, number: int) -> None:
        """Forget a checkpoint that is damaged."""
        with self._file.transaction(to_disk=True):
            self._file.execute("DELETE FROM checkpoints WHERE number = ?", number)

    def forget_stream(self, stream: str) -> None:
        self._forget("trains", stream)

    def forget_unit(self, unit: str) -> None:
        self._forget("runs", unit)

    @contextmanager
    def together(self) -> Iterator[None]:
        with self._file.transaction():
            yield

    def close(self) -> None:
        self._file.close()

    def _record(self, log: str, name: str, number: int, body: str) -> None:
        if not self._file.execute(self._next[log], name, number, body).rowcount:
            last = self._file.number(self._last[log], name)
            raise not_next(log.removesuffix("s"), name, number, last)

    def _after(self, log: str, name: str, number: int) -> list[Any]:
        return self._file.rows(
            f"SELECT number, body FROM {log} WHERE name = ? AND number > ? ORDER BY number",
            name,
            number,
        )

    def _trim(self, log: str, upto: Mapping[str, int]) -> None:
        """Forget records; of a thousand queries only few may have any."""
        held = (name for (name,) in self._file.rows(f"SELECT DISTINCT name FROM {log}"))
        places = [(name, upto[name]) for name in held if name in upto]
        self._file.execute_all(REMEMBER_TRIM[log], places)
        self._file.execute_all(f"DELETE FROM {log} WHERE name = ? AND number <= ?", places)

    def _forget(self, log: str, name: str) -> None:
        with self.together():
            self._file.execute(f"DELETE FROM {log} WHERE name = ?", name)
            self._file.execute("DELETE FROM trimmed WHERE log = ? AND name = ?", log, name)


class SqliteJournal(SqlJournal):
    """A journal that survives its process; one process at a time (the home's lock sees to it)."""

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        super().__init__(Database(path, FORMAT, sync=sync), greatest="max")
