"""The files that both sides read: (ts, k, v), one file a batch.

A batch spans five seconds of event time, so a window of ten seconds gets rows from several and
closes in every second one. Rows are up to 1.5 s older than their batch, within the slack: none
is late. Values are quarters, whose sums are exact in any order.

Every run gets files of another day: Spark keeps the code that it has compiled for a query with
the same constants, and no stream sees the same times twice.
"""

import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

FIRST_DAY = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000
DAY = 86_400 * 1_000_000
BATCH_SECONDS = 5
WINDOW_SECONDS = 10
SLACK_SECONDS = 2
DISORDER = 1_500_000
SECOND = 1_000_000
DDL = "ts TIMESTAMP, k STRING, v DOUBLE"


@dataclass(frozen=True, slots=True)
class Readings:
    """A directory of files. An odd number of batches lets the last one close a window."""

    path: Path
    format: str
    rows: int
    keys: int
    batches: int
    start: int = FIRST_DAY

    def on_day(self, number: int, path: Path) -> "Readings":
        """Return readings of the same sizes, so many days later."""
        return replace(self, path=path, start=FIRST_DAY + number * DAY)

    @property
    def closed_before(self) -> int:
        """Return the end of the last window that the last batch closes, in microseconds."""
        latest = self.start + self.batches * BATCH_SECONDS * SECOND
        window = WINDOW_SECONDS * SECOND
        return (latest - 1 - SLACK_SECONDS * SECOND) // window * window

    @property
    def skipped(self) -> int:
        """Return how many first batches are start-up and do not count."""
        return max(2, self.batches // 6 * 2)


def written(size: Readings, day: int, path: Path) -> Readings:
    """Write readings of the same sizes, so many days later; return them."""
    readings = size.on_day(day, path)
    write_readings(readings)
    return readings


def write_readings(readings: Readings, seed: int = 7) -> None:
    """Write the files, oldest first."""
    readings.path.mkdir(parents=True)
    random = np.random.default_rng(seed)
    names = pa.array([f"key-{number:06d}" for number in range(readings.keys)])
    for batch in range(readings.batches):
        path = readings.path / f"batch-{batch:04d}.{readings.format}"
        _write(_table(readings, batch, names, random), path)
        # Both sides take files by their times of change.
        changed = 1_700_000_000 + batch
        os.utime(path, (changed, changed))


def _table(
    readings: Readings, batch: int, names: pa.Array, random: np.random.Generator
) -> pa.Table:
    first = readings.start + batch * BATCH_SECONDS * SECOND
    times = random.integers(
        first - (DISORDER if batch else 0), first + BATCH_SECONDS * SECOND, readings.rows
    )
    times[0] = first + BATCH_SECONDS * SECOND - 1  # the watermark after a batch is known exactly
    keys = names.take(pa.array(random.integers(0, readings.keys, readings.rows)))
    values = random.integers(0, 4_000, readings.rows) / 4
    return pa.table(
        {
            "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
            "k": keys,
            "v": pa.array(values),
        }
    )


def _write(table: pa.Table, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=128 * 1024)
        return
    times = pc.strftime(table["ts"], "%Y-%m-%dT%H:%M:%SZ")  # seconds with their fraction
    values = table["v"].cast(pa.string())
    cells = ('{"ts": "', times, '", "k": "', table["k"], '", "v": ', values, "}\n")
    lines = pc.binary_join_element_wise(*cells, "")
    path.write_text("".join(lines.to_pylist()))
