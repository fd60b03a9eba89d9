"""Many joins of the same two streams: as one bundle, and each by itself.

Rows are pushed, a train of each stream at a time, and CPU is counted from the first train after
the windows are full until everything is delivered. Both sides take turns, and every query has to
deliver as many rows on both.
"""

import itertools
import shutil
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from benchmarks.cpu import sampling
from benchmarks.measurement import Effort, Outcome, median
from benchmarks.readings import FIRST_DAY, SECOND
from benchmarks.session import collect_garbage
from penstock.client import Connection
from penstock.engine.sinks.sink import Delivery
from penstock.runtime.loop.supervisor import Settings

COLUMNS = (
    "joins",
    "ask",
    "rows a train",
    "keys",
    "rows out",
    "bundle (CPU s)",
    "alone (CPU s)",
    "CPU ratio",
)
TRAIN_SECONDS = 10
PATIENCE_SECONDS = 300
POLL_SECONDS = 0.02
DDL = "ts TIMESTAMP, k BIGINT, c INT, v DOUBLE"


@dataclass(frozen=True, slots=True)
class Case:
    """`rows` of each stream a train; the first trains fill the windows and do not count."""

    ask: str
    joins: int
    rows: int
    keys: int
    skipped: int = 4
    trains: int = 6


def _overlapping(case: Case, number: int) -> str:
    """Return a join that wants most of what the others want, for up to a minute."""
    span = 10 * (1 + number % 3)
    return _join(span, span, f"a.v > {number / case.joins / 2:g}")


def _disjoint(case: Case, number: int) -> str:
    """Return a join that wants nothing of what the others want."""
    return _join(20, 20, f"a.c % {case.joins} = {number} AND b.c % {case.joins} = {number}")


def _unlike(case: Case, number: int) -> str:
    """Return one long join of few tuples, and short ones of nearly all."""
    if number == 0:
        return _join(40, 40, "a.v > 0.99 AND b.v > 0.99")
    return _join(1, 1, f"a.v > {number / case.joins / 10:g}")


def _join(left: int, right: int, where: str) -> str:
    return (
        f"SELECT a.ts, a.k, a.v AS av, b.v AS bv FROM a [RANGE {left} SECONDS] "
        f"JOIN b [RANGE {right} SECONDS] ON a.k = b.k WHERE {where}"
    )


ASKING: dict[str, Callable[[Case, int], str]] = {
    "overlapping": _overlapping,
    "disjoint": _disjoint,
    "one long, others short": _unlike,
}
TINY = (Case("overlapping", 3, 200, 200, trains=2),)
QUICK = (
    Case("overlapping", 20, 500, 500),
    Case("overlapping", 20, 20_000, 20_000),
    Case("disjoint", 20, 20_000, 20_000),
    Case("disjoint", 20, 20_000, 100),
    Case("one long, others short", 20, 20_000, 20_000),
)
ALL = (*QUICK, Case("overlapping", 2, 20_000, 20_000), Case("overlapping", 100, 20_000, 20_000))


def shared_joins(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure joins that differ in windows and filters."""
    rows, raw = [], []
    for case in TINY if effort.tiny else ALL if effort.full else QUICK:
        found, given = _cpu(case, spark, directory, effort.repetitions)
        rows.append(_line(case, found, given))
        raw.append({"case": asdict(case), "bundle": found[True], "alone": found[False]})
        print("  " + " | ".join(rows[-1]), flush=True)
    title = "Joins of the same two streams that differ in windows and filters"
    notes = ["Medians; every query delivered as many rows on both sides."]
    return Outcome("shared_joins", title, COLUMNS, rows, notes, raw)


def _line(case: Case, found: dict[bool, list[float]], given: int) -> list[str]:
    together, alone = median(found[True]), median(found[False])
    return [
        f"{case.joins:,}",
        case.ask,
        f"{case.rows:,}",
        f"{case.keys:,}",
        f"{given:,}",
        f"{together:.2f}",
        f"{alone:.2f}",
        f"{alone / together:.2f}x",
    ]


def _cpu(
    case: Case, spark: SparkSession, directory: Path, repeats: int
) -> tuple[dict[bool, list[float]], int]:
    """Return the CPU seconds of both sides, and how many rows each gave."""
    found: dict[bool, list[float]] = {True: [], False: []}
    given = [_run(case, spark, directory / uuid4().hex, share=share)[1] for share in found]
    assert given[0] == given[1], "the sides deliver other rows"
    for _, share in itertools.product(range(repeats), found):
        found[share].append(_run(case, spark, directory / uuid4().hex, share=share)[0])
    return found, sum(given[0].values())


def _run(
    case: Case, spark: SparkSession, home: Path, *, share: bool
) -> tuple[float, dict[str, int]]:
    """Return the CPU seconds of the trains that count, and how many rows each query gave."""
    collect_garbage(spark)
    given: dict[str, int] = defaultdict(int)

    def count(delivery: Delivery) -> None:
        given[delivery.query] += delivery.rows.num_rows

    settings = Settings(share=share, checkpoint_seconds=3600.0)
    with sampling(spark) as usage, penstock.connect(home, spark=spark, settings=settings) as ps:
        ps.tap(count)
        ps.script("".join(_stream(name) for name in "ab") + ";".join(_queries(case)))
        for train in range(case.skipped):
            _push(ps, case, train)
        begin = time.time()
        for train in range(case.skipped, case.skipped + case.trains):
            _push(ps, case, train)
        end = time.time()
    shutil.rmtree(home)
    return usage.between(begin, end), dict(given)


def _push(ps: Connection, case: Case, train: int) -> None:
    """Push a train into each stream, and wait until nobody has anything left to read."""
    for seed, name in enumerate("ab"):
        ps.push(name, _rows(case, train, seed))
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _is_read(ps, (train + 1) * case.rows):
        assert time.monotonic() < deadline, "Penstock did not get through"
        time.sleep(POLL_SECONDS)


def _is_read(ps: Connection, rows: int) -> bool:
    streams = ps.sql("SHOW STREAMS").table
    assert streams is not None
    if any(each < rows for each in streams["rows"].to_pylist()):
        return False
    with ps.system.quiescence.resting():
        return not any(buffer.behind() for buffer in ps.system.supervisor.topology.buffers)


def _rows(case: Case, train: int, seed: int) -> pa.Table:
    """Return a train of a stream, in order of time; each side has its own."""
    random = np.random.default_rng((train, seed))
    first = (FIRST_DAY // SECOND + train * TRAIN_SECONDS) * SECOND
    times = np.sort(random.integers(first, first + TRAIN_SECONDS * SECOND, case.rows))
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "k": random.integers(0, case.keys, case.rows),
            "c": random.integers(0, 1_000, case.rows).astype(np.int32),
            "v": random.random(case.rows),
        }
    )


def _stream(name: str) -> str:
    return f"CREATE STREAM {name} ({DDL}) TIMESTAMP BY ts FROM push();\n"


def _queries(case: Case) -> list[str]:
    asked = (ASKING[case.ask](case, number) for number in range(case.joins))
    return [f"CREATE QUERY q{number} AS {sql}" for number, sql in enumerate(asked)]
