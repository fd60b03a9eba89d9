"""Penstock's side: a query over files, with the times at which its runs and deliveries ended."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from benchmarks.pace import Mark
from benchmarks.readings import SLACK_SECONDS
from penstock.client import Connection
from penstock.engine.sinks.sink import Delivery
from penstock.engine.trains.buffers import Train
from penstock.plan.operators import Scan
from penstock.runtime.loop.dispatch.run_queue import RunQueue
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.live_unit import LiveUnit
from penstock.runtime.work.run_limits import RUN_LIMITS, RunLimits

PATIENCE_SECONDS = 600
LOOK_SECONDS = 2.0


@dataclass(slots=True)
class Watch:
    """Notes when each run of a unit ended, and when the rows that it gave were handed over."""

    total_rows: int
    runs: list[Mark] = field(default_factory=list)
    given: list[int] = field(default_factory=list)  # rows out, after each run
    handed: list[Mark] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def ran(self, rows: int, given: int) -> None:
        """Note the end of a run over so many rows that gave so many."""
        self.given.append(given + (self.given[-1] if self.given else 0))
        self.runs.append(Mark(rows + (self.runs[-1].rows if self.runs else 0), time.time()))
        self._see_whether_done()

    def tap(self, delivery: Delivery) -> None:
        """Note a delivery."""
        before = self.handed[-1].rows if self.handed else 0
        self.handed.append(Mark(before + delivery.rows.num_rows, time.time()))
        self._see_whether_done()

    def marks(self) -> list[Mark]:
        """Return when each run was done, delivery included."""
        return [
            Mark(run.rows, max(run.at, self._handed_at(given)))
            for run, given in zip(self.runs, self.given, strict=True)
        ]

    def _see_whether_done(self) -> None:
        handed = self.handed[-1].rows if self.handed else 0
        if self.runs[-1].rows >= self.total_rows and handed >= self.given[-1]:
            self.done.set()

    def _handed_at(self, given: int) -> float:
        return next((each.at for each in self.handed if each.rows >= given), 0.0) if given else 0.0


@contextmanager
def watching(total_rows: int) -> Iterator[Watch]:
    """Watch every unit of this process; the connection's taps must have the watch's."""
    watch = Watch(total_rows)
    execute = LiveUnit.execute

    def watched_execute(
        live: LiveUnit, processor: Any, number: int, inputs: Any, *more: Any, **options: Any
    ) -> Any:
        output: Any = execute(live, processor, number, inputs, *more, **options)
        outputs = output.values() if isinstance(output, dict) else (output,)
        rows = sum(t.rows.count for trains in inputs.values() for t in trains)
        watch.ran(rows, sum(each.rows.count for each in outputs))
        return output

    with mock.patch.object(LiveUnit, "execute", watched_execute):
        yield watch


@contextmanager
def one_file_a_run() -> Iterator[None]:
    """Let a unit that reads streams take one train of each, as its peer does."""
    together = RunQueue._together

    def one(ready: RunQueue, live: LiveUnit, trains: list[Train], now: float) -> list[Train]:
        reads = any(isinstance(leaf, Scan) for leaf in live.unit.leaves)
        return trains[:1] if reads else together(ready, live, trains, now)

    with mock.patch.object(RunQueue, "_together", one):
        yield


def run_script(
    spark: SparkSession,
    home: Path,
    script: str,
    *,
    total_rows: int,
    said: list[pa.Table] | None,
    limits: RunLimits = RUN_LIMITS,
) -> list[Mark]:
    """Run one query over so many rows, within some limits; say when runs ended."""
    with (
        watching(total_rows) as watch,
        penstock.connect(home, spark=spark, settings=Settings(limits=limits)) as connection,
    ):
        if said is not None:
            connection.tap(lambda delivery: said.append(delivery.rows))
        connection.tap(watch.tap)
        connection.script(script)
        _wait(watch, connection)
        return watch.marks()


def _wait(watch: Watch, connection: Connection) -> None:
    """Wait until all is done; raise at once where a query has failed."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not watch.done.wait(LOOK_SECONDS):
        states = connection.sql("SHOW QUERIES").table
        assert states is not None
        failed = [row for row in states.to_pylist() if row["state"] == "FAILED"]
        assert not failed, failed
        assert time.monotonic() < deadline, "Penstock did not get through"


def create_stream(
    name: str, columns: str, path: Path, form: str = "parquet", *, order: str = ""
) -> str:
    """Return the statement for a stream of files, a train each; `order` is its ORDERED BY."""
    return (
        f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts SLACK INTERVAL {SLACK_SECONDS} SECONDS "
        f"{order} FROM files(path => '{path}', format => '{form}', files_per_train => 1);\n"
    )
