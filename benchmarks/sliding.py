"""A sliding aggregate, sixty slides a window, over files: Penstock against Structured Streaming.

A row belongs to sixty windows. Structured Streaming writes it out sixty times; Penstock adds it
to one pane and puts windows together from panes when they close. A third peer is what an expert
would write by hand for Structured Streaming: one-second windows first, then windows over those.

Each batch is one file. From the end of one batch, when windows have become full, to the end of
the last one.
"""

import functools
import itertools
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

import penstock
from benchmarks.cpu import sampling
from benchmarks.measurement import Effort, Outcome, median, spread
from benchmarks.pace import Mark, Pace, pace
from benchmarks.penstock_side import PATIENCE_SECONDS, watching
from benchmarks.readings import (
    BATCH_SECONDS,
    DDL,
    SECOND,
    SLACK_SECONDS,
    Readings,
    write_readings,
)
from benchmarks.session import STORES, Store, collect_garbage, streaming_session
from penstock.runtime import turns

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
NOT_WORTH_REPEATING = 0.8  # of the other store's rate: the better one is the peer anyway


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
Side = Callable[[Readings, Path, list[pa.Table] | None], list[Mark]]  # rows go into the list
Totals = Callable[[DataFrame], DataFrame]


def sliding(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure several sizes."""
    rows, raw = [], []
    for case in TINY if effort.tiny else ALL if effort.full else QUICK:
        paces = _Bench(case, spark, directory, effort.repetitions).paces()
        rows.append(_line(case, paces))
        kept = {side: list(map(asdict, each)) for side, each in paces.items()}
        raw.append({"case": asdict(case), "paces": kept})
        print("  " + " | ".join(rows[-1]), flush=True)
    title = (
        f"Sliding aggregate ({SIZE_SECONDS} s every {SLIDE_SECONDS} s; sum, count, avg by key) "
        "over Parquet files"
    )
    return Outcome("sliding", title, COLUMNS, rows, _notes(raw), raw)


def _line(case: Case, paces: dict[str, list[Pace]]) -> list[str]:
    middle = {side: _rate(each) for side, each in paces.items()}
    cpu = {side: median(each.cpu_a_million for each in all_) for side, all_ in paces.items()}
    store = max((each.name for each in STORES), key=lambda side: middle[side])
    peer = middle[store]
    return [
        f"{case.rows:,}",
        f"{case.keys:,}",
        f"{middle[PENSTOCK]:,.0f}",
        f"{peer:,.0f}",
        store,
        f"{middle[PENSTOCK] / peer:.2f}x",
        f"{cpu[store] / cpu[PENSTOCK]:.2f}x",
        f"{middle[BY_HAND]:,.0f}",
        f"{middle[PENSTOCK] / middle[BY_HAND]:.2f}x",
    ]


def _rate(paces: Sequence[Pace]) -> float:
    return median(each.rows_a_second for each in paces)


def _notes(raw: Sequence[dict[str, Any]]) -> list[str]:
    notes = [
        "Medians; results were compared with the batch query before anything was timed.",
        "By hand: windows of one second, then windows over those, in the HDFS-backed store.",
    ]
    for each in raw:
        shown = "; ".join(
            f"{side} {spread([p['rows_a_second'] for p in paces])}"
            for side, paces in each["paces"].items()
        )
        notes.append(f"{each['case']['rows']:,} rows a batch: {shown}")
    return notes


class _Bench:
    """One case, and the sides that take turns at it, each time on files of another day."""

    def __init__(self, case: Case, spark: SparkSession, directory: Path, repeats: int) -> None:
        self._spark, self._repeats, self._skipped = spark, repeats, case.skipped
        self._directory = directory / uuid4().hex
        self._days = itertools.count()
        self._case = Readings(
            self._directory, "parquet", rows=case.rows, keys=case.keys, batches=case.batches
        )

    def paces(self) -> dict[str, list[Pace]]:
        """Return each side's paces, one a repetition, the sides taking turns."""
        sides: dict[str, Side] = {
            PENSTOCK: self._penstock,
            **{s.name: functools.partial(self._streaming, s, _totals) for s in STORES},
            BY_HAND: functools.partial(self._streaming, STORES[0], _totals_in_panes),
        }
        for side, run in sides.items():  # warms up, too
            self._on_new_files(functools.partial(self._check, side, run))
        found: dict[str, list[Pace]] = defaultdict(list)
        for _ in range(self._repeats):
            for side, run in sides.items():
                if not _is_beaten(side, found):
                    found[side].append(self._on_new_files(run))
        return dict(found)

    def _on_new_files(self, run: Side) -> Pace:
        readings = self._case.on_day(next(self._days), self._directory / "readings")
        write_readings(readings)
        collect_garbage(self._spark)
        try:
            with sampling(self._spark) as usage:
                marks = run(readings, self._directory / "home", None)
            return pace(marks, self._skipped * readings.rows, usage)
        finally:
            shutil.rmtree(self._directory)

    def _check(self, side: str, run: Side, readings: Readings, home: Path, _: object) -> list[Mark]:
        """See that a side says what the batch query says of the windows that have closed."""
        said: list[pa.Table] = []
        marks = run(readings, home, said)
        latest = readings.start + readings.batches * BATCH_SECONDS * SECOND - 1
        last = F.timestamp_micros(F.lit(latest - (SLACK_SECONDS + SIZE_SECONDS) * SECOND))
        frame = self._spark.read.schema(DDL).parquet(str(readings.path))
        expected = _bag(_totals(frame).where(F.col("window_start") <= last).toArrow())
        assert _bag(pa.concat_tables(said)).equals(expected), f"{side} gives other rows"
        return marks

    def _penstock(self, readings: Readings, home: Path, said: list[pa.Table] | None) -> list[Mark]:
        with (
            mock.patch.object(turns, "AGGREGATE_ROWS", readings.rows),
            watching(readings.rows * readings.batches) as watch,
            penstock.connect(home, spark=self._spark) as connection,
        ):
            if said is not None:
                connection.tap(lambda delivery: said.append(delivery.rows))
            connection.script(_script(readings))
            assert watch.done.wait(PATIENCE_SECONDS), "Penstock did not get through"
            return watch.marks()

    def _streaming(
        self,
        store: Store,
        totals: Totals,
        readings: Readings,
        home: Path,
        said: list[pa.Table] | None,
    ) -> list[Mark]:
        session = streaming_session(self._spark, store)
        name = f"totals_{uuid4().hex}"
        stream = session.readStream.schema(DDL).option("maxFilesPerTrigger", 1)
        rows = stream.parquet(str(readings.path)).withWatermark("ts", f"{SLACK_SECONDS} seconds")
        writer = totals(rows).writeStream.outputMode("append").trigger(availableNow=True)
        writer = writer.queryName(name).format("noop" if said is None else "memory")
        query = writer.option("checkpointLocation", str(home)).start()
        query.awaitTermination()
        if said is not None:
            said.append(session.table(name).toArrow())
            session.catalog.dropTempView(name)
        marks, count = [], 0
        for progress in query.recentProgress:
            if progress["numInputRows"]:  # one without rows lets go of the last windows
                count += progress["numInputRows"]
                began = datetime.fromisoformat(progress["timestamp"]).timestamp()
                marks.append(Mark(count, began + progress["durationMs"]["triggerExecution"] / 1000))
        return marks


def _is_beaten(side: str, found: dict[str, list[Pace]]) -> bool:
    """Say whether a store has lost clearly in the first round."""
    stores = {store.name for store in STORES}
    if side not in stores or not all(found.get(store) for store in stores):
        return False
    return _rate(found[side]) < NOT_WORTH_REPEATING * max(_rate(found[s]) for s in stores)


def _script(readings: Readings) -> str:
    window = f"[RANGE {SIZE_SECONDS} SECONDS SLIDE {SLIDE_SECONDS} SECONDS]"
    return f"""
    CREATE STREAM readings ({DDL})
      TIMESTAMP BY ts SLACK INTERVAL {SLACK_SECONDS} SECONDS
      FROM files(path => '{readings.path}', format => 'parquet', files_per_train => 1);
    CREATE QUERY totals AS
      SELECT window_start, k, sum(v) AS total, count(*) AS n, avg(v) AS mean
      FROM readings {window} GROUP BY k;
    """


def _totals(frame: DataFrame) -> DataFrame:
    """Return the aggregate as Structured Streaming and a batch write it."""
    window = F.window("ts", f"{SIZE_SECONDS} seconds", f"{SLIDE_SECONDS} seconds")
    grouped = frame.groupBy(window, "k").agg(
        F.sum("v").alias("total"), F.count("*").alias("n"), F.avg("v").alias("mean")
    )
    return grouped.select(F.col("window.start").alias("window_start"), "k", "total", "n", "mean")


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


def _bag(table: pa.Table) -> pa.Table:
    """Return the rows in an order of their own, in the types that both sides share."""
    types = {
        "window_start": pa.timestamp("us", "UTC"),
        "k": pa.string(),
        "total": pa.float64(),
        "n": pa.int64(),
        "mean": pa.float64(),
    }
    fitted = table.select(list(types)).cast(pa.schema(list(types.items())))
    return fitted.sort_by([("window_start", "ascending"), ("k", "ascending")]).combine_chunks()
