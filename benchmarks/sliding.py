"""A sliding aggregate, sixty slides a window, over files: Penstock against Structured Streaming.

A row belongs to sixty windows. Structured Streaming writes it out sixty times; Penstock adds it
to one pane and puts windows together from panes when they close. A third peer is what an expert
would write by hand for Structured Streaming: one-second windows first, then windows over those.

Each batch is one file. From the end of one batch, when windows have become full, to the end of
the last one.
"""

import functools
from collections.abc import Callable
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
from benchmarks.readings import (
    BATCH_SECONDS,
    DDL,
    SECOND,
    SLACK_SECONDS,
    Readings,
    written,
)
from benchmarks.session import STORES, Store, streaming_session
from benchmarks.streaming_side import read_files, run_to_end
from benchmarks.totals import in_order
from benchmarks.totals import totals as by_window
from penstock.runtime.work.run_limits import RunLimits

SIZE_SECONDS, SLIDE_SECONDS = 60, 1
COLUMNS = (
    "rows a batch",
    "keys",
    "Penstock (rows/s)",
    "peer (rows/s)",
    "peer's store",
    "ratio",
    "CPU ratio",
    "peer in panes by hand (rows/s)",
    "ratio to that",
)
PENSTOCK, BY_HAND = "Penstock", "by hand"
NOTES = (
    "Medians; results were compared with the batch query before anything was timed.",
    "By hand: windows of one second, then windows over those, in the HDFS-backed store.",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One size; the first `skipped` batches fill the windows and do not count."""

    rows: int
    keys: int
    batches: int
    skipped: int = SIZE_SECONDS // BATCH_SECONDS + 1


TINY = (Case(500, 10, 7, 2),)
QUICK = (Case(20_000, 100, 25), Case(100_000, 100, 17))
ALL = (Case(20_000, 100, 41), Case(100_000, 100, 31), Case(200_000, 100, 31))
Totals = Callable[[DataFrame], DataFrame]


def sliding(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure several sizes."""
    rows, raw, notes = [], [], list(NOTES)
    for case in TINY if effort.tiny else ALL if effort.full else QUICK:
        paces = _paces(case, spark, directory, effort.repetitions)
        rows.append(_line(case, paces))
        raw.append({"case": asdict(case), "paces": kept(paces)})
        notes.append(f"{case.rows:,} rows a batch: {spreads(paces)}")
        print("  " + " | ".join(rows[-1]), flush=True)
    title = (
        f"Sliding aggregate ({SIZE_SECONDS} s every {SLIDE_SECONDS} s; sum, count, avg by key) "
        "over Parquet files"
    )
    return Outcome("sliding", title, COLUMNS, rows, notes, raw)


def _line(case: Case, paces: Paces) -> list[str]:
    store = better_store(paces)
    assert store is not None
    own, peer, by_hand = (rate(paces[side]) for side in (PENSTOCK, store, BY_HAND))
    return [
        f"{case.rows:,}",
        f"{case.keys:,}",
        f"{own:,.0f}",
        f"{peer:,.0f}",
        store,
        f"{own / peer:.2f}x",
        f"{cpu(paces[store]) / cpu(paces[PENSTOCK]):.2f}x",
        f"{by_hand:,.0f}",
        f"{own / by_hand:.2f}x",
    ]


def _paces(case: Case, spark: SparkSession, directory: Path, repeats: int) -> Paces:
    size = Readings(directory, "parquet", rows=case.rows, keys=case.keys, batches=case.batches)
    contest = Contest(
        spark=spark,
        directory=directory,
        write=functools.partial(written, size),
        expected=functools.partial(_expected, spark),
        bag=in_order,
        skipped_rows=case.skipped * case.rows,
    )
    sides: dict[str, Side[Readings]] = {
        PENSTOCK: functools.partial(_penstock, spark),
        **{s.name: functools.partial(_streaming, spark, s, _totals) for s in STORES},
        BY_HAND: functools.partial(_streaming, spark, STORES[0], _totals_in_panes),
    }
    return contest.paces(sides, repeats)


def _penstock(spark: SparkSession, readings: Readings, home: Path, said: Said) -> list[Mark]:
    window = f"[RANGE {SIZE_SECONDS} SECONDS SLIDE {SLIDE_SECONDS} SECONDS]"
    script = create_stream("readings", DDL, readings.path) + (
        "CREATE QUERY totals AS "
        "SELECT window_start, k, sum(v) AS total, count(*) AS n, avg(v) AS mean "
        f"FROM readings {window} GROUP BY k;"
    )
    total, limits = readings.rows * readings.batches, RunLimits(aggregate_rows=readings.rows)
    return run_script(spark, home, script, total_rows=total, said=said, limits=limits)


def _streaming(
    spark: SparkSession, store: Store, totals: Totals, readings: Readings, home: Path, said: Said
) -> list[Mark]:
    stream = read_files(streaming_session(spark, store), DDL, readings.path)
    return run_to_end(totals(stream), home, said)


def _expected(spark: SparkSession, readings: Readings) -> pa.Table:
    """Return what the batch query says of the windows that have closed."""
    latest = readings.start + readings.batches * BATCH_SECONDS * SECOND - 1
    last = F.timestamp_micros(F.lit(latest - (SLACK_SECONDS + SIZE_SECONDS) * SECOND))
    frame = spark.read.schema(DDL).parquet(str(readings.path))
    return _totals(frame).where(F.col("window_start") <= last).toArrow()


def _totals(frame: DataFrame) -> DataFrame:
    """Return the aggregate as Structured Streaming and a batch write it."""
    window = F.window("ts", f"{SIZE_SECONDS} seconds", f"{SLIDE_SECONDS} seconds")
    return by_window(frame, window)


def _totals_in_panes(frame: DataFrame) -> DataFrame:
    """Return the same through windows of one slide each."""
    panes = frame.groupBy(F.window("ts", f"{SLIDE_SECONDS} seconds").alias("pane"), "k").agg(
        F.sum("v").alias("total"), F.count("*").alias("n")
    )
    at = F.window_time("pane")
    window = F.window(at, f"{SIZE_SECONDS} seconds", f"{SLIDE_SECONDS} seconds")
    grouped = panes.groupBy(window.alias("window"), "k").agg(
        F.sum("total").alias("total"), F.sum("n").alias("n")
    )
    mean = (F.col("total") / F.col("n")).alias("mean")
    return grouped.select(F.col("window.start").alias("window_start"), "k", "total", "n", mean)
