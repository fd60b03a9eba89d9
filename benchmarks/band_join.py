"""Joins of long trains by few keys and by many: rows a second, with time buckets and without.

A train spans a million windows and more, so that few of the pairs of a key can meet. `by key alone`
is Penstock with its decision turned off: it compares every two rows of a key. Each case of few keys
has one of many keys with as many rows in, and one with as many rows out besides.

From the end of the first batch to the end of the last one, so that start-up counts for neither.
"""

import functools
import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from benchmarks.contest import Contest, Paces, Said, cpu, kept, rate, spreads
from benchmarks.measurement import Effort, Outcome
from benchmarks.pace import Mark
from benchmarks.penstock_side import create_stream, run_script
from benchmarks.readings import DAY, FIRST_DAY
from penstock.engine.states.joins import window_join
from penstock.runtime.work.run_limits import RunLimits

COLUMNS = (
    "rows a batch",
    "keys",
    "windows",
    "rows out",
    "by time (rows/s)",
    "CPU (s a million rows)",
    "by key alone (rows/s)",
    "ratio",
    "CPU ratio",
)
BY_TIME, BY_KEY = "by time", "by key alone"
DDL = "ts TIMESTAMP, k BIGINT, v DOUBLE"
SPAN = 10_000_000_000  # of a batch, in microseconds
NAMES = ("a_ts", "b_ts", "k", "a_v", "b_v")


@dataclass(frozen=True, slots=True)
class Case:
    """`rows` of both streams together a batch; a tuple stays for `width` microseconds.

    Where a batch takes minutes `by_key` alone, only the other side runs.
    """

    rows: int
    keys: int
    width: int
    by_key: bool = True
    batches: int = 3

    @property
    def sides(self) -> tuple[str, ...]:
        """Return who runs."""
        return (BY_TIME, BY_KEY) if self.by_key else (BY_TIME,)


def _cases(rows: int, *, by_key: bool = True) -> tuple[Case, ...]:
    """Return few keys, as many rows by many keys, and as many rows that give as many pairs."""
    few = Case(rows, 3, 10_000, by_key)
    return few, Case(rows, 3_000, 10_000), Case(rows, 3_000, 10_000_000)


TINY = (Case(8_000, 3, 1_000_000), Case(8_000, 300, 1_000_000))
QUICK = _cases(100_000)
ALL = (*QUICK, *_cases(336_000, by_key=False))


def band_join(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure joins of several sizes."""
    rows, raw = [], []
    notes = ["Medians; results were compared with a merge by numpy before anything was timed."]
    for case in TINY if effort.tiny else ALL if effort.full else QUICK:
        paces, given = _paces(case, spark, directory, effort.repetitions)
        rows.append(_line(case, paces, given))
        raw.append({"case": asdict(case), "paces": kept(paces)})
        notes.append(f"{case.rows:,} rows a batch, {case.keys:,} keys: {spreads(paces)}")
        print("  " + " | ".join(rows[-1]), flush=True)
    title = "Join of long trains by few keys and by many (both windows as short as stated)"
    return Outcome("band_join", title, COLUMNS, rows, notes, raw)


def _line(case: Case, paces: Paces, given: int) -> list[str]:
    by_time, by_key = paces[BY_TIME], paces.get(BY_KEY)
    return [
        f"{case.rows:,}",
        f"{case.keys:,}",
        f"{case.width / 1_000_000:g} s",
        f"{given:,}",
        f"{rate(by_time):,.0f}",
        f"{cpu(by_time):.1f}",
        f"{rate(by_key):,.0f}" if by_key else "",
        f"{rate(by_time) / rate(by_key):.2f}x" if by_key else "",
        f"{cpu(by_key) / cpu(by_time):.2f}x" if by_key else "",
    ]


def _paces(case: Case, spark: SparkSession, directory: Path, repeats: int) -> tuple[Paces, int]:
    """Return the paces of both sides, and how many rows the join gives."""
    counted: list[int] = []

    def expected(files: Path) -> pa.Table:
        found = _expected(case, files)
        counted.append(found.num_rows)
        return found

    contest = Contest(
        spark=spark,
        directory=directory,
        write=functools.partial(_written, case),
        expected=expected,
        bag=_bag,
        skipped_rows=case.rows,
    )
    sides = {name: functools.partial(_penstock, case, spark, name) for name in case.sides}
    return contest.paces(sides, repeats), counted[0]


def _penstock(
    case: Case, spark: SparkSession, name: str, files: Path, home: Path, said: Said
) -> list[Mark]:
    window = f"[RANGE {case.width} MICROSECONDS]"
    script = "".join(create_stream(each, DDL, files / each) for each in "ab") + (
        "CREATE QUERY joined AS SELECT a.ts AS a_ts, b.ts AS b_ts, a.k, a.v AS a_v, b.v AS b_v "
        f"FROM a {window} JOIN b {window} ON a.k = b.k"
    )
    total, limits = case.rows * case.batches, RunLimits(aggregate_rows=case.rows // 2)
    never = mock.patch.object(window_join, "are_crowded", return_value=False)
    with never if name == BY_KEY else nullcontext():
        return run_script(spark, home, script, total_rows=total, said=said, limits=limits)


def _expected(case: Case, files: Path) -> pa.Table:
    """Return the pairs: the rows of each key in order of time, merged."""
    left, right = ({n: c.to_numpy() for n, c in _read(files / side).items()} for side in "ab")
    found = []
    for key in range(case.keys):
        mine, other = (_of_key(side, key) for side in (left, right))
        low = np.searchsorted(other["ts"], mine["ts"] - case.width, "left")
        high = np.searchsorted(other["ts"], mine["ts"] + case.width, "right")
        at = np.repeat(np.arange(len(low)), high - low)
        begins = np.repeat(np.cumsum(high - low) - (high - low), high - low)
        to = np.arange(len(at)) - begins + low[at]
        columns = (mine["ts"][at], other["ts"][to], mine["k"][at], mine["v"][at], other["v"][to])
        found.append(pa.table(dict(zip(NAMES, columns, strict=True))))
    return pa.concat_tables(found)


def _read(path: Path) -> Mapping[str, pa.ChunkedArray]:
    table = pq.read_table(path)
    return {"ts": table["ts"].cast(pa.int64()), "k": table["k"], "v": table["v"]}


def _of_key(side: Mapping[str, "np.ndarray"], key: int) -> dict[str, "np.ndarray"]:
    mine = np.flatnonzero(side["k"] == key)
    order = mine[np.argsort(side["ts"][mine], kind="stable")]
    return {name: column[order] for name, column in side.items()}


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
        first = start + batch * SPAN
        times = np.sort(random.integers(first, first + SPAN, rows))
        table = pa.table(
            {
                "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
                "k": pa.array(random.integers(0, case.keys, rows), pa.int64()),
                "v": pa.array(random.integers(0, 4_000, rows) / 4),
            }
        )
        file = path / f"batch-{batch:04d}.parquet"
        pq.write_table(table, file)
        changed = 1_700_000_000 + batch  # files are taken by their times of change
        os.utime(file, (changed, changed))


def _bag(table: pa.Table) -> pa.Table:
    """Return the rows in an order of their own."""
    types = [pa.int64()] * 3 + [pa.float64()] * 2
    fitted = table.select(NAMES).cast(pa.schema(list(zip(NAMES, types, strict=True))))
    return fitted.sort_by([(name, "ascending") for name in NAMES]).combine_chunks()
