"""A join of two streams of files: rows a second, Penstock against Structured Streaming.

Each batch is one file of each stream. A tuple of one side meets those of the other with its key
that are at most a window's length apart: few, so that the state is what costs. From the end of
one batch to the end of the last one, so that start-up counts for neither side.
"""

import functools
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
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
from benchmarks.readings import BATCH_SECONDS, DAY, DISORDER, FIRST_DAY, SECOND
from benchmarks.session import STORES, Store, streaming_session
from benchmarks.streaming_side import read_files, run_to_end
from penstock.runtime.work.run_limits import RunLimits

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


def window_join(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure joins of several sizes."""
    rows, raw = [], []
    notes = ["Medians; results were compared with the batch join before anything was timed."]
    for case in TINY if effort.tiny else ALL if effort.full else QUICK:
        paces = _paces(case, spark, directory, effort.repetitions)
        rows.append(_line(case, paces))
        raw.append({"case": asdict(case), "paces": kept(paces)})
        notes.append(f"{case.rows:,} rows a batch: {spreads(paces)}")
        print("  " + " | ".join(rows[-1]), flush=True)
    title = "Join of two streams over Parquet files (equal keys, a window of four batches)"
    return Outcome("window_join", title, COLUMNS, rows, notes, raw)


def _line(case: Case, paces: Paces) -> list[str]:
    store = better_store(paces)
    assert store is not None
    own, peer = rate(paces[PENSTOCK]), rate(paces[store])
    return [
        f"{case.rows:,}",
        f"{case.rows * case.spans:,}",
        f"{case.keys:,}",
        f"{own:,.0f}",
        f"{peer:,.0f}",
        store,
        f"{own / peer:.2f}x",
        f"{cpu(paces[store]) / cpu(paces[PENSTOCK]):.2f}x",
    ]


def _paces(case: Case, spark: SparkSession, directory: Path, repeats: int) -> Paces:
    contest = Contest(
        spark=spark,
        directory=directory,
        write=functools.partial(_written, case),
        expected=functools.partial(_expected, case, spark),
        bag=_bag,
        skipped_rows=case.skipped * case.rows,
    )
    sides: dict[str, Side[Path]] = {
        PENSTOCK: functools.partial(_penstock, case, spark),
        **{store.name: functools.partial(_streaming, case, spark, store) for store in STORES},
    }
    return contest.paces(sides, repeats)


def _penstock(case: Case, spark: SparkSession, files: Path, home: Path, said: Said) -> list[Mark]:
    window = f"[RANGE {case.window_seconds} SECONDS]"
    script = "".join(create_stream(name, DDL, files / name) for name in "ab") + (
        "CREATE QUERY joined AS SELECT a.ts AS a_ts, b.ts AS b_ts, a.k, a.v AS a_v, b.v AS b_v "
        f"FROM a {window} JOIN b {window} ON a.k = b.k"
    )
    total, limits = case.rows * case.batches, RunLimits(aggregate_rows=case.rows // 2)
    return run_script(spark, home, script, total_rows=total, said=said, limits=limits)


def _streaming(
    case: Case, spark: SparkSession, store: Store, files: Path, home: Path, said: Said
) -> list[Mark]:
    session = streaming_session(spark, store)
    left, right = (read_files(session, DDL, files / name) for name in "ab")
    return run_to_end(_joined(case, left, right), home, said)


def _expected(case: Case, spark: SparkSession, files: Path) -> pa.Table:
    left, right = (spark.read.schema(DDL).parquet(str(files / name)) for name in "ab")
    return _joined(case, left, right).toArrow()


def _joined(case: Case, left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the join as Structured Streaming and a batch write it."""
    a = left.select(F.col("ts").alias("a_ts"), "k", F.col("v").alias("a_v"))
    b = right.select(F.col("ts").alias("b_ts"), F.col("k").alias("b_k"), F.col("v").alias("b_v"))
    window = f"INTERVAL {case.window_seconds} SECONDS"
    on = f"k = b_k AND b_ts <= a_ts + {window} AND a_ts <= b_ts + {window}"
    return a.join(b, F.expr(on)).select("a_ts", "b_ts", "k", "a_v", "b_v")


def _written(case: Case, day: int, path: Path) -> Path:
    """Write both streams' files of a day; return where."""
    for seed, name in enumerate("ab"):
        _write(case, path / name, FIRST_DAY + day * DAY, seed)
    return path


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
