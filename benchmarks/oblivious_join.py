"""A join without a window over Parquet files: rows a second, beside two that have one.

Two streams number the same epochs, a little scrambled; the second is two batches behind the first.
Event time is that of arrival, as where sources have no common clock, so the first stream's window
has to span how far the second is behind, and the second's hardly anything: the peers get the
smallest windows that lose no row.
"""

import functools
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

from benchmarks.contest import Contest, Paces, Said, Side, better_store, cpu, kept, rate, spreads
from benchmarks.measurement import Effort, Outcome
from benchmarks.pace import Mark
from benchmarks.penstock_side import create_stream, run_script
from benchmarks.readings import BATCH_SECONDS, DAY, FIRST_DAY, SECOND
from benchmarks.session import STORES, Store, streaming_session
from benchmarks.streaming_side import read_files, run_to_end
from penstock.runtime.work.run_limits import RunLimits

COLUMNS = (
    "rows a batch",
    "rows behind",
    "without a window (rows/s)",
    "with one (rows/s)",
    "ratio",
    "peer (rows/s)",
    "peer's store",
    "ratio",
    "CPU ratio",
)
WITHOUT, WITH = "without a window", "with a window"
DDL = "ts TIMESTAMP, epoch BIGINT, v DOUBLE"
BEHIND = 2  # batches
SCRAMBLED = 100  # tuples, at most, from the place in order
LEAST = 1_000  # microseconds: the second stream's window


@dataclass(frozen=True, slots=True)
class Case:
    """`rows` of both streams together a batch."""

    rows: int
    batches: int

    @property
    def each(self) -> int:
        """Return the rows of one stream a batch."""
        return self.rows // 2

    @property
    def skipped(self) -> int:
        """Return how many first batches fill the state and do not count."""
        return BEHIND + 3

    @property
    def window_micros(self) -> int:
        """Return how far apart two tuples of an epoch come at most."""
        tuples = BEHIND * self.each + 2 * SCRAMBLED
        return tuples * BATCH_SECONDS * SECOND // self.each


TINY = (Case(2_000, 9),)
QUICK = (Case(20_000, 15), Case(100_000, 11))
ALL = (Case(20_000, 31), Case(100_000, 25))


def oblivious_join(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure joins of several sizes."""
    rows, raw = [], []
    notes = ["Medians; rows were compared with the batch join before anything was timed."]
    for case in TINY if effort.tiny else ALL if effort.full else QUICK:
        paces = _paces(case, spark, directory, effort.repetitions)
        rows.append(_line(case, paces))
        raw.append({"case": asdict(case), "paces": kept(paces)})
        notes.append(f"{case.rows:,} rows a batch: {spreads(paces)}")
        print("  " + " | ".join(rows[-1]), flush=True)
    title = "Join of two streams by epoch, one behind the other, over Parquet files"
    return Outcome("oblivious_join", title, COLUMNS, rows, notes, raw)


def _line(case: Case, paces: Paces) -> list[str]:
    store = better_store(paces)
    assert store is not None
    own, windowed, peer = (rate(paces[side]) for side in (WITHOUT, WITH, store))
    return [
        f"{case.rows:,}",
        f"{BEHIND * case.each:,}",
        f"{own:,.0f}",
        f"{windowed:,.0f}",
        f"{own / windowed:.2f}x",
        f"{peer:,.0f}",
        store,
        f"{own / peer:.2f}x",
        f"{cpu(paces[store]) / cpu(paces[WITHOUT]):.2f}x",
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
    windows = (f" [RANGE {case.window_micros} MICROSECONDS]", f" [RANGE {LEAST} MICROSECONDS]")
    sides: dict[str, Side[Path]] = {
        WITHOUT: functools.partial(_penstock, case, spark, ("", "")),
        WITH: functools.partial(_penstock, case, spark, windows),
        **{store.name: functools.partial(_streaming, case, spark, store) for store in STORES},
    }
    return contest.paces(sides, repeats)


def _penstock(
    case: Case,
    spark: SparkSession,
    windows: tuple[str, str],
    files: Path,
    home: Path,
    said: Said,
) -> list[Mark]:
    order = f"ORDERED BY epoch SCRAMBLED {2 * SCRAMBLED} DUPLICATES 1"
    streams = (create_stream(name, DDL, files / name, order=order) for name in "ab")
    script = "".join(streams) + (
        "CREATE QUERY joined AS SELECT a.epoch, a.v AS a_v, b.v AS b_v "
        f"FROM a{windows[0]} JOIN b{windows[1]} ON a.epoch = b.epoch"
    )
    total, limits = case.rows * case.batches, RunLimits(aggregate_rows=case.each)
    return run_script(spark, home, script, total_rows=total, said=said, limits=limits)


def _streaming(
    case: Case, spark: SparkSession, store: Store, files: Path, home: Path, said: Said
) -> list[Mark]:
    session = streaming_session(spark, store)
    left, right = (read_files(session, DDL, files / name) for name in "ab")
    return run_to_end(_joined(case, left, right), home, said)


def _expected(case: Case, spark: SparkSession, files: Path) -> pa.Table:
    left, right = (spark.read.schema(DDL).parquet(str(files / name)) for name in "ab")
    found = _joined(case, left, right).toArrow()
    whole = left.join(right, "epoch").count()
    assert found.num_rows == whole, "the window loses rows"
    return found


def _joined(case: Case, left: DataFrame, right: DataFrame) -> DataFrame:
    """Return the join as Structured Streaming and a batch write it."""
    a = left.select(F.col("ts").alias("a_ts"), "epoch", F.col("v").alias("a_v"))
    b = right.select(
        F.col("ts").alias("b_ts"), F.col("epoch").alias("b_epoch"), F.col("v").alias("b_v")
    )
    window, least = (f"INTERVAL {each} MICROSECONDS" for each in (case.window_micros, LEAST))
    on = f"epoch = b_epoch AND b_ts <= a_ts + {window} AND a_ts <= b_ts + {least}"
    return a.join(b, F.expr(on)).select("epoch", "a_v", "b_v")


def _written(case: Case, day: int, path: Path) -> Path:
    """Write both streams' files of a day; return where."""
    for seed, (name, behind) in enumerate((("a", 0), ("b", BEHIND * case.each))):
        _write(case, path / name, FIRST_DAY + day * DAY, (seed, behind))
    return path


def _write(case: Case, path: Path, start: int, drawn: Sequence[int]) -> None:
    """Write one stream's files, oldest first."""
    path.mkdir(parents=True)
    seed, behind = drawn
    random, rows = np.random.default_rng(seed), case.each * case.batches
    place = np.arange(rows)
    epochs = place[np.argsort(place + random.random(rows) * SCRAMBLED, kind="stable")] - behind
    times = start + place * (BATCH_SECONDS * SECOND) // case.each
    for batch in range(case.batches):
        part = slice(batch * case.each, (batch + 1) * case.each)
        table = pa.table(
            {
                "ts": pa.array(times[part], pa.int64()).cast(pa.timestamp("us", "UTC")),
                "epoch": pa.array(epochs[part], pa.int64()),
                "v": pa.array(random.integers(0, 4_000, case.each) / 4),
            }
        )
        file = path / f"batch-{batch:04d}.parquet"
        pq.write_table(table, file)
        changed = 1_700_000_000 + batch  # both sides take files by their times of change
        os.utime(file, (changed, changed))


def _bag(table: pa.Table) -> pa.Table:
    """Return the rows in an order of their own, in the types that both sides share."""
    types = {"epoch": pa.int64(), "a_v": pa.float64(), "b_v": pa.float64()}
    fitted = table.select(list(types)).cast(pa.schema(list(types.items())))
    return fitted.sort_by([(name, "ascending") for name in types]).combine_chunks()
