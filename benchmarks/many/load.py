"""The files that all systems read: traffic, reports of some cars, and a table of roads.

A batch is one file of each stream. Times are whole milliseconds (Flink's event time has no more)
and come up to `DISORDER` late, within the slack. Speeds are quarters, whose sums are exact in any
order.

Every run gets files of another day: Spark keeps the code that it has compiled for a query with
the same constants, and no stream sees the same times twice.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.many.kinds import LANES, ROADS, TYPES
from benchmarks.readings import DAY, FIRST_DAY, SECOND

BATCH_SECONDS = 20
SLACK_SECONDS = 2
DISORDER = 1_500_000
MILLISECOND = 1_000
CARS = 1_000
REPORT_EVERY = 100  # one report for so many rows of traffic
LEAST_REPORTS = 20  # so that a small load has pairs, too
SCHEMAS = {
    "traffic": (
        "ts TIMESTAMP, car STRING, road INT, lane INT, type STRING, mph DOUBLE, weight INT"
    ),
    "reports": "ts TIMESTAMP, car STRING, severity INT",
}
REGIONS = ("north", "south", "east")
CHANGED = 1_700_000_000  # systems take files by their times of change


@dataclass(frozen=True, slots=True)
class Load:
    """So many rows of traffic a batch, below `path`, a directory a stream.

    What comes up to the end of batch `warm` is start-up and does not count.
    """

    path: Path
    rows: int
    batches: int
    warm: int
    start: int = FIRST_DAY
    seed: int = 7

    def on_day(self, number: int, path: Path) -> "Load":
        """Return a load of the same sizes, so many days later."""
        return replace(self, path=path, start=FIRST_DAY + number * DAY)

    def watermark(self, batches: int) -> int:
        """Return the watermark after so many batches, in microseconds."""
        return self.start + (batches * BATCH_SECONDS - SLACK_SECONDS) * SECOND - MILLISECOND

    @property
    def counted_rows(self) -> int:
        """Return the rows of traffic that count."""
        return (self.batches - self.warm) * self.rows

    @property
    def roads(self) -> Path:
        """Return the directory of the table."""
        return self.path / "roads"


def write_load(load: Load) -> None:
    """Write the files, oldest first."""
    random = np.random.default_rng(load.seed)
    for name in SCHEMAS:
        (load.path / name).mkdir(parents=True)
    for batch in range(load.batches):
        for name, table in zip(SCHEMAS, _tables(load, batch, random), strict=True):
            path = load.path / name / f"batch-{batch:04d}.parquet"
            pq.write_table(table, path, row_group_size=128 * 1024)
            os.utime(path, (CHANGED + batch, CHANGED + batch))
    load.roads.mkdir()
    pq.write_table(roads(), load.roads / "roads.parquet")


def roads() -> pa.Table:
    """Return the table: a region and a speed limit for each road."""
    numbers = np.arange(ROADS)
    return pa.table(
        {
            "road": pa.array(numbers, pa.int32()),
            "region": pa.array([REGIONS[n % len(REGIONS)] for n in numbers]),
            "speed_limit": pa.array(30 + 5 * (numbers % 5), pa.int32()),
        }
    )


def write_for_flink(load: Load, batches: int, form: str, readers: int = 2) -> Path:
    """Write the rows of the first batches once more, for Flink; return where.

    Its source takes files in no certain order, and rows of an older file would then be late: so
    traffic is a file for each reader that goes through all of the time, the others are one file.
    Files must be large enough that no reader is through before all have begun; one is safe.
    """
    target = load.path / f"flink-{batches}"
    for name, parts in {"traffic": readers, "reports": 1}.items():
        files = sorted((load.path / name).iterdir())[:batches]
        rows = pa.concat_tables(map(pq.read_table, files))
        millis = rows["ts"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        rows = rows.set_column(0, "millis", millis)
        for part in range(parts):
            places = pa.array(np.arange(part, rows.num_rows, parts))
            _write_one(rows.take(places), target / name / f"part-{part}.{form}")
    _write_one(roads(), target / "roads" / f"part-0.{form}")
    return target


def _write_one(table: pa.Table, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".parquet":
        pq.write_table(table, file)
    else:
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
        pyarrow.csv.write_csv(table, file, options)


def _tables(load: Load, batch: int, random: np.random.Generator) -> tuple[pa.Table, pa.Table]:
    rows, reports = load.rows, max(LEAST_REPORTS, load.rows // REPORT_EVERY)
    kinds, names = pa.array(TYPES), pa.array([f"c{n:03d}" for n in range(CARS)])
    traffic = {
        "ts": _times(load, batch, rows, random),
        "car": names.take(pa.array(random.integers(0, CARS, rows))),
        "road": pa.array(random.integers(0, ROADS, rows), pa.int32()),
        "lane": pa.array(random.integers(0, LANES, rows), pa.int32()),
        "type": kinds.take(pa.array(random.integers(0, len(TYPES), rows))),
        "mph": pa.array(random.integers(40, 360, rows) / 4),
        "weight": pa.array(random.integers(500, 40_000, rows), pa.int32()),
    }
    reported = {
        "ts": _times(load, batch, reports, random),
        "car": names.take(pa.array(random.integers(0, CARS, reports))),
        "severity": pa.array(random.integers(1, 6, reports), pa.int32()),
    }
    return pa.table(traffic), pa.table(reported)


def _times(load: Load, batch: int, rows: int, random: np.random.Generator) -> pa.Array:
    """Return times in about their order; the last is the batch's latest."""
    first = load.start + batch * BATCH_SECONDS * SECOND
    end = first + BATCH_SECONDS * SECOND
    places = np.sort(random.integers(first, end, rows))
    late = random.integers(0, DISORDER, rows)
    times: npt.NDArray[np.int64] = np.maximum(places - late, load.start)
    times[-1] = end - MILLISECOND  # so the watermark after a batch is known exactly
    times = times // MILLISECOND * MILLISECOND
    return pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC"))
