"""Penstock's side: a query over files, with the times at which its runs and deliveries ended."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from benchmarks.pace import Mark
from benchmarks.readings import DDL, SLACK_SECONDS, WINDOW_SECONDS, Readings
from penstock.engine.sinks.sink import Delivery
from penstock.runtime import turns
from penstock.runtime.live_query import LiveQuery
from penstock.runtime.live_unit import LiveUnit

PATIENCE_SECONDS = 600


@dataclass(slots=True)
class Watch:
    """Notes when each run of a unit ended, and when its rows were delivered."""

    total_rows: int
    runs: list[Mark] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    delivered: dict[int, float] = field(default_factory=dict)
    done: threading.Event = field(default_factory=threading.Event)

    def ran(self, number: int, rows: int) -> None:
        """Note the end of a run."""
        before = self.runs[-1].rows if self.runs else 0
        self.numbers[number] = len(self.runs)
        self.runs.append(Mark(before + rows, time.time()))

    def handed_over(self, number: int) -> None:
        """Note the end of a delivery of everything up to a run."""
        place = self.numbers[number]
        self.delivered[place] = time.time()
        if self.runs[place].rows >= self.total_rows:
            self.done.set()

    def marks(self) -> list[Mark]:
        """Return when each run was done, delivery included."""
        return [
            Mark(run.rows, max(run.at, self.delivered.get(place, 0.0)))
            for place, run in enumerate(self.runs)
        ]


@contextmanager
def watching(total_rows: int) -> Iterator[Watch]:
    """Watch every unit and query of this process."""
    watch = Watch(total_rows)
    execute, deliver = LiveUnit.execute, LiveQuery.deliver

    def watched_execute(live: LiveUnit, processor: Any, number: int, inputs: Any) -> Any:
        output = execute(live, processor, number, inputs)
        watch.ran(number, sum(t.rows.count for trains in inputs.values() for t in trains))
        return output

    def watched_deliver(query: LiveQuery, trains: Any, *others: Any) -> None:
        deliver(query, trains, *others)
        watch.handed_over(trains[-1].info.number)

    with (
        mock.patch.object(LiveUnit, "execute", watched_execute),
        mock.patch.object(LiveQuery, "deliver", watched_deliver),
    ):
        yield watch


def run_penstock(
    spark: SparkSession,
    home: Path,
    readings: Readings,
    take: Callable[[pa.Table], None],
    *,
    coalesce: bool,
) -> list[Mark]:
    """Run the tumbling aggregate; without `coalesce` a run takes one file, as its peer does."""
    limit = turns.AGGREGATE_ROWS if coalesce else readings.rows

    def tap(delivery: Delivery) -> None:
        take(delivery.rows)

    with (
        mock.patch.object(turns, "AGGREGATE_ROWS", limit),
        watching(readings.rows * readings.batches) as watch,
        penstock.connect(home, spark=spark) as connection,
    ):
        connection.tap(tap)
        connection.script(script(readings))
        assert watch.done.wait(PATIENCE_SECONDS), "Penstock did not get through"
        return watch.marks()


def script(readings: Readings) -> str:
    """Return the stream and the query as SQL."""
    return f"""
    CREATE STREAM readings ({DDL})
      TIMESTAMP BY ts SLACK INTERVAL {SLACK_SECONDS} SECONDS
      FROM files(path => '{readings.path}', format => '{readings.format}', files_per_train => 1);
    CREATE QUERY totals AS
      SELECT window_start, k, sum(v) AS total, count(*) AS n, avg(v) AS mean
      FROM readings [RANGE {WINDOW_SECONDS} SECONDS] GROUP BY k;
    """
