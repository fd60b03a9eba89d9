"""One tumbling aggregate over files: rows a second, Penstock against Structured Streaming.

From the end of one batch to the end of the last one, so that start-up counts for neither side.
Both let go of the same number of windows in between.
"""

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

from benchmarks.contest import (
    Contest,
    Paces,
    Said,
    Side,
    better_store,
    cpu,
    kept,
    rate,
    spreads,
)
from benchmarks.measurement import Effort, Outcome
from benchmarks.pace import Mark
from benchmarks.penstock_side import create_stream, run_script
from benchmarks.readings import DDL, SECOND, WINDOW_SECONDS, Readings, written
from benchmarks.session import STORES, Store, streaming_session
from benchmarks.streaming_side import read_files, run_to_end
from benchmarks.totals import in_order, totals
from penstock.runtime.work.run_limits import RUN_LIMITS, RunLimits

COLUMNS = (
    "format",
    "rows a batch",
    "keys",
    "Penstock, one file a run (rows/s)",
    "Penstock, coalescing (rows/s)",
    "peer (rows/s)",
    "peer's store",
    "ratio, one file a run",
    "ratio, coalescing",
    "CPU ratio, one file a run",
    "CPU ratio, coalescing",
)
ONE_FILE, COALESCING = "Penstock, one file a run", "Penstock, coalescing"
NOTES = (
    "Medians; results were compared with the batch query before anything was timed.",
    "CPU ratio: the peer's CPU time a row over Penstock's; a busy machine disturbs it less.",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One size; `batches` is odd, so that the last one closes a window."""

    format: str
    rows: int
    keys: int
    batches: int


TINY = (Case("parquet", 2_000, 10, 9),)
QUICK = (
    Case("parquet", 20_000, 100, 31),
    Case("parquet", 200_000, 100, 25),
    Case("parquet", 200_000, 10_000, 25),
    Case("parquet", 500_000, 100_000, 19),
)
ALL = (
    Case("parquet", 20_000, 100, 41),
    Case("parquet", 20_000, 10_000, 41),
    Case("parquet", 200_000, 100, 31),
    Case("parquet", 200_000, 10_000, 31),
    Case("parquet", 200_000, 100_000, 31),
    Case("parquet", 500_000, 100, 25),
    Case("parquet", 500_000, 10_000, 25),
    Case("parquet", 500_000, 100_000, 25),
)
JSON = (Case("json", 20_000, 100, 31), Case("json", 200_000, 10_000, 25))


def tumbling(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure Parquet files of several sizes."""
    cases = TINY if effort.tiny else ALL if effort.full else QUICK
    title = "Tumbling aggregate (10 s; sum, count, avg by key) over Parquet files"
    return _measure("tumbling", title, cases, (spark, directory, effort))


def tumbling_json(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure the same over JSON files, for information."""
    cases = (Case("json", 2_000, 10, 9),) if effort.tiny else JSON if effort.full else JSON[1:]
    title = "The same aggregate over JSON files (for information)"
    return _measure("tumbling_json", title, cases, (spark, directory, effort))


Surroundings = tuple[SparkSession, Path, Effort]


def _measure(name: str, title: str, cases: Sequence[Case], around: Surroundings) -> Outcome:
    rows, raw, notes = [], [], list(NOTES)
    for case in cases:
        paces = _paces(case, around)
        rows.append(_line(case, paces))
        raw.append({"case": asdict(case), "paces": kept(paces)})
        notes.append(f"{case.format} {case.rows:,} × {case.keys:,} keys: {spreads(paces)}")
        print("  " + " | ".join(rows[-1]), flush=True)
    return Outcome(name, title, COLUMNS, rows, notes, raw)


def _line(case: Case, paces: Paces) -> list[str]:
    store = better_store(paces)
    assert store is not None
    one, coalescing, peer = (rate(paces[side]) for side in (ONE_FILE, COALESCING, store))
    used = cpu(paces[store])
    return [
        case.format,
        f"{case.rows:,}",
        f"{case.keys:,}",
        f"{one:,.0f}",
        f"{coalescing:,.0f}",
        f"{peer:,.0f}",
        store,
        f"{one / peer:.2f}x",
        f"{coalescing / peer:.2f}x",
        f"{used / cpu(paces[ONE_FILE]):.2f}x",
        f"{used / cpu(paces[COALESCING]):.2f}x",
    ]


def _paces(case: Case, around: Surroundings) -> Paces:
    spark, directory, effort = around
    size = Readings(directory, case.format, rows=case.rows, keys=case.keys, batches=case.batches)
    contest = Contest(
        spark=spark,
        directory=directory,
        write=functools.partial(written, size),
        expected=functools.partial(_expected, spark),
        bag=in_order,
        skipped_rows=size.skipped * size.rows,
    )
    sides: dict[str, Side[Readings]] = {
        ONE_FILE: functools.partial(_penstock, spark, coalesce=False),
        **{store.name: functools.partial(_streaming, spark, store) for store in STORES},
        COALESCING: functools.partial(_penstock, spark, coalesce=True),
    }
    return contest.paces(sides, effort.repetitions)


def _penstock(
    spark: SparkSession, readings: Readings, home: Path, said: Said, *, coalesce: bool
) -> list[Mark]:
    """Run the tumbling aggregate; without `coalesce` a run takes one file, as its peer does."""
    script = create_stream("readings", DDL, readings.path, readings.format) + (
        "CREATE QUERY totals AS "
        "SELECT window_start, k, sum(v) AS total, count(*) AS n, avg(v) AS mean "
        f"FROM readings [RANGE {WINDOW_SECONDS} SECONDS] GROUP BY k;"
    )
    total = readings.rows * readings.batches
    limits = RUN_LIMITS if coalesce else RunLimits(aggregate_rows=readings.rows)
    return run_script(spark, home, script, total_rows=total, said=said, limits=limits)


def _streaming(
    spark: SparkSession, store: Store, readings: Readings, home: Path, said: Said
) -> list[Mark]:
    session = streaming_session(spark, store)
    stream = read_files(session, DDL, readings.path, readings.format)
    return run_to_end(_totals(stream), home, said)


def _totals(frame: DataFrame) -> DataFrame:
    """Return the aggregate as Structured Streaming and a batch write it."""
    return totals(frame, F.window("ts", f"{WINDOW_SECONDS} seconds"))


def _expected(spark: SparkSession, readings: Readings) -> pa.Table:
    """Return what both sides must have said: the batch query over all files."""
    frame = spark.read.schema(DDL).format(readings.format).load(str(readings.path))
    end = F.timestamp_micros(F.lit(readings.closed_before - WINDOW_SECONDS * SECOND))
    return _totals(frame).where(F.col("window_start") <= end).toArrow()
