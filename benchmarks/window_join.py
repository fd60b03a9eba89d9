"""A join of two streams of files: rows a second, Penstock against Structured Streaming.

Each batch is one file of each stream. A tuple of one side meets those of the other with its key
that are at most a window's length apart: few, so that the state is what costs. From the end of
one batch to the end of the last one, so that start-up counts for neither side.
"""

import functools
import itertools
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from unittest import mock
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

import penstock
from benchmarks.cpu import sampling
from benchmarks.measurement import Effort, Outcome, median, spread
from benchmarks.pace import Mark, Pace, pace
from benchmarks.penstock_side import PATIENCE_SECONDS, watching
from benchmarks.readings import BATCH_SECONDS, DAY, DISORDER, FIRST_DAY, SECOND, SLACK_SECONDS
from benchmarks.session import STORES, Store, collect_garbage, streaming_session
from penstock.runtime import turns

COLUMNS = (
    "rows a batch",
    "rows in the window",
    "keys",
    "Penstock (rows/s)",
    "peer (rows/s)",
    "peer's store",
    "ratio",
    "CPU ratio",
)
PENSTOCK = "Penstock"
DDL = "ts TIMESTAMP, k BIGINT, v DOUBLE"
NOT_WORTH_REPEATING = 0.8  # of the other store's rate: the better one is the peer anyway


@dataclass(frozen=True, slots=True)
class Case:
    """`rows` of both streams together a batch; `spans` batches lie in the window."""

    rows: int
    keys: int
    batches: int
    spans: int = 4

    @property
    def skipped(self) -> int:
        """Return how many first batches fill the window and do not count."""
        return self.spans + 2

    @property
    def window_seconds(self) -> int:
        """Return how long a tuple stays."""
        return self.spans * BATCH_SECONDS


TINY = (Case(2_000, 1_000, 9),)
QUICK = (Case(100_000, 200_000, 19),)
ALL = (Case(20_000, 40_000, 31), Case(100_000, 200_000, 25), Case(400_000, 800_000, 17))
Side = Callable[[Path, int, Path, list[pa.Table] | None], list[Mark]]


def window_join(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure joins of several sizes."""
    cases = TINY if effort.tiny else ALL if effort.full else QUICK
    rows, raw = [], []
    for case in cases:
        paces = _Bench(case, spark, directory, effort.repetitions).paces()
        rows.append(_line(case, paces))
        kept = {side: list(map(asdict, each)) for side, each in paces.items()}
        raw.append({"case": asdict(case), "paces": kept})
        print("  " + " | ".join(rows[-1]), flush=True)
    notes = ["Medians; results were compared with the batch join before anything was timed."]
    notes += [
        f"{each['case']['rows']:,} rows a batch: "
        + "; ".join(
            f"{side} {spread([p['rows_a_second'] for p in paces])}"
            for side, paces in each["paces"].items()
        )
        for each in raw
    ]
    title = "Join of two streams over Parquet files (equal keys, a window of four batches)"
    return Outcome("window_join", title, COLUMNS, rows, notes, raw)


def _line(case: Case, paces: dict[str, list[Pace]]) -> list[str]:
    middle = {side: _rate(each) for side, each in paces.items()}
    cpu = {side: median(each.cpu_a_million for each in all_) for side, all_ in paces.items()}
    store = max((each.name for each in STORES), key=lambda side: middle[side])
    return [
        f"{case.rows:,}",
        f"{case.rows * case.spans:,}",
        f"{case.keys:,}",
        f"{middle[PENSTOCK]:,.0f}",
        f"{middle[store]:,.0f}",
        store,
        f"{middle[PENSTOCK] / middle[store]:.2f}x",
        f"{cpu[store] / cpu[PENSTOCK]:.2f}x",
    ]


def _rate(paces: Sequence[Pace]) -> float:
    return median(each.rows_a_second for each in paces)


class _Bench:
    """One case, and the sides that take turns at it, each time on files of another day."""

    def __init__(self, case: Case, spark: SparkSession, directory: Path, repeats: int) -> None:
        self._case, self._spark, self._repeats = case, spark, repeats
        self._directory = directory / uuid4().hex
        self._days = itertools.count()

    def paces(self) -> dict[str, list[Pace]]:
        """Return each side's paces, one a repetition, the sides taking turns."""
        sides: dict[str, Side] = {
            PENSTOCK: self._penstock,
            **{store.name: functools.partial(self._streaming, store) for store in STORES},
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
        files, start = self._directory / "files", FIRST_DAY + next(self._days) * DAY
        for seed, name in enumerate("ab"):
            _write(self._case, files / name, start, seed)
        collect_garbage(self._spark)
        try:
            with sampling(self._spark) as usage:
                marks = run(files, start, self._directory / "home", None)
            return pace(marks, self._case.skipped * self._case.rows, usage)
        finally:
            shutil.rmtree(self._directory)

    def _check(
        self, side: str, run: Side, files: Path, start: int, home: Path, _: object
    ) -> list[Mark]:
        """See that a side says what the batch join says."""
        said: list[pa.Table] = []
        marks = run(files, start, home, said)
        left, right = (self._spark.read.schema(DDL).parquet(str(files / name)) for name in "ab")
        expected = _bag(_joined(self._case, left, right).toArrow())
        assert _bag(pa.concat_tables(said)).equals(expected), f"{side} gives other rows"
        return marks

    def _penstock(
        self, files: Path, start: int, home: Path, said: list[pa.Table] | None
    ) -> list[Mark]:
        case = self._case
        streams = "".join(
            f"CREATE STREAM {name} ({DDL}) TIMESTAMP BY ts SLACK INTERVAL {SLACK_SECONDS} SECONDS "
            f"FROM files(path => '{files / name}', format => 'parquet', files_per_train => 1);"
            for name in "ab"
        )
        window = f"[RANGE {case.window_seconds} SECONDS]"
        query = (
            "CREATE QUERY joined AS SELECT a.ts AS a_ts, b.ts AS b_ts, a.k, a.v AS a_v, b.v AS b_v "
            f"FROM a {window} JOIN b {window} ON a.k = b.k"
        )
        with (
            mock.patch.object(turns, "AGGREGATE_ROWS", case.rows // 2),
            watching(case.rows * case.batches) as watch,
            penstock.connect(home, spark=self._spark) as connection,
        ):
            if said is not None:
                connection.tap(lambda delivery: said.append(delivery.rows))
            connection.script(streams + query)
            assert watch.done.wait(PATIENCE_SECONDS), "Penstock did not get through"
            return watch.marks()

    def _streaming(
        self, store: Store, files: Path, start: int, home: Path, said: list[pa.Table] | None
    ) -> list[Mark]:
        session = streaming_session(self._spark, store)
        left, right = (
            session.readStream.schema(DDL)
            .format("parquet")
            .option("maxFilesPerTrigger", 1)
            .load(str(files / name))
            .withWatermark("ts", f"{SLACK_SECONDS} seconds")
            for name in "ab"
        )
        name = f"joined_{uuid4().hex}"
        writer = _joined(self._case, left, right).writeStream.outputMode("append")
        writer = writer.trigger(availableNow=True).queryName(name)
        writer = writer.format("noop" if said is None else "memory")
        query = writer.option("checkpointLocation", str(home)).start()
        query.awaitTermination()
        marks, rows = [], 0
        for progress in query.recentProgress:
            if progress["numInputRows"]:
                rows += progress["numInputRows"]
                began = datetime.fromisoformat(progress["timestamp"]).timestamp()
                marks.append(Mark(rows, began + progress["durationMs"]["triggerExecution"] / 1000))
        if said is not None:
            said.append(session.table(name).toArrow())
            session.catalog.dropTempView(name)
        return marks


def _is_beaten(side: str, found: dict[str, list[Pace]]) -> bool:
    """Say whether a store has lost clearly in the first round."""
    stores = {store.name for store in STORES}
    if side not in stores or not all(found.get(store) for store in stores):
        return False
    return _rate(found[side]) < NOT_WORTH_REPEATING * max(_rate(found[s]) for s in stores)


def _joined(case: Case, left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the join as Structured Streaming and a batch write it."""
    a = left.select(F.col("ts").alias("a_ts"), "k", F.col("v").alias("a_v"))
    b = right.select(F.col("ts").alias("b_ts"), F.col("k").alias("b_k"), F.col("v").alias("b_v"))
    window = f"INTERVAL {case.window_seconds} SECONDS"
    on = f"k = b_k AND b_ts <= a_ts + {window} AND a_ts <= b_ts + {window}"
    return a.join(b, F.expr(on)).select("a_ts", "b_ts", "k", "a_v", "b_v")


def _write(case: Case, path: Path, start: int, seed: int) -> None:
    """Write one stream's files, oldest first."""
    path.mkdir(parents=True)
    random, rows = np.random.default_rng(seed), case.rows // 2
    for batch in range(case.batches):
        first = start + batch * BATCH_SECONDS * SECOND
        low = first - (DISORDER if batch else 0)
        times = random.integers(low, first + BATCH_SECONDS * SECOND, rows)
        times[0] = first + BATCH_SECONDS * SECOND - 1
        table = pa.table(
            {
                "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
                "k": pa.array(random.integers(0, case.keys, rows), pa.int64()),
                "v": pa.array(random.integers(0, 4_000, rows) / 4),
            }
        )
        file = path / f"batch-{batch:04d}.parquet"
        pq.write_table(table, file)
        changed = 1_700_000_000 + batch  # both sides take files by their times of change
        os.utime(file, (changed, changed))


def _bag(table: pa.Table) -> pa.Table:
    """Return the rows in an order of their own, in the types that both sides share."""
    names = ["a_ts", "b_ts", "k", "a_v", "b_v"]
    types = [pa.timestamp("us", "UTC")] * 2 + [pa.int64(), pa.float64(), pa.float64()]
    fitted = table.select(names).cast(pa.schema(list(zip(names, types, strict=True))))
    return fitted.sort_by([(name, "ascending") for name in names]).combine_chunks()
