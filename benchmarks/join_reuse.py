"""MavStream's experiments on its hash join: small buffers, data rates, and reuse of what met.

Its windows go over two streams of logical time, a tuple a second each, and join by a value that
one tuple of each has in each span: so every window has as many rows, however far windows overlap.
`recompute` joins each window anew, `reuse` keeps what met for later windows (MAV-36, MAV-37).
"""

import itertools
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from benchmarks.measurement import Effort, Outcome, median
from benchmarks.readings import FIRST_DAY, SECOND
from benchmarks.session import collect_garbage
from penstock.client import Connection
from penstock.engine.sinks.sink import Delivery
from penstock.engine.states.joins.hop_join import HopJoinState
from penstock.engine.trains.buffers import DEFAULT_BOUNDS
from penstock.runtime.loop.supervisor import Settings

COLUMNS = (
    "experiment",
    "varied",
    "how",
    "seconds",
    "mean latency (s)",
    "rows waiting at most",
    "rows kept at most",
    "rows out",
)
WINDOWS = 5
WAYS = ("recompute", "reuse")
TRAINS_A_WINDOW = 4
PACE_SECONDS = 0.05  # between trains at a rate
PATIENCE_SECONDS = 200
FLOODED = 0.0
DDL = "ts TIMESTAMP, k BIGINT, v BIGINT"
ROW_BYTES = 24


@dataclass(frozen=True, slots=True)
class Case:
    """`size` tuples of each stream are a window; `rate` of each come a second, or all at once.

    `bound` is how many tuples a buffer holds in memory, None is all.
    """

    size: int
    overlap: float = 0.1
    rate: float = FLOODED
    how: str = "recompute"
    bound: int | None = None

    @property
    def slide(self) -> int:
        """Return how many tuples are between the beginnings of two windows."""
        return round(self.size * (1 - self.overlap))

    @property
    def tuples(self) -> int:
        """Return how many tuples of each stream all windows take."""
        return self.size + (WINDOWS - 1) * self.slide


@dataclass(slots=True)
class Seen:
    """What a run showed: when rows came, how long each took, and what was held at most."""

    pushed: float = 0.0
    rows: int = 0
    latencies: float = 0.0
    waiting: int = 0
    kept: int = 0
    seconds: float = field(default=0.0)

    def tap(self, delivery: Delivery) -> None:
        """Count rows with the time since the last tuples were pushed."""
        self.rows += delivery.rows.num_rows
        self.latencies += delivery.rows.num_rows * (time.perf_counter() - self.pushed)

    @property
    def latency(self) -> float:
        """Return the mean of the rows' times."""
        return self.latencies / max(1, self.rows)


def join_reuse(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure E1, E2 and E3 in turn; E2, which goes by the clock, once."""
    rows, raw = [], []
    cases, runs = list(_cases(effort)), defaultdict[int, list[Seen]](list)
    for way in WAYS:  # warms up
        _run(Case(200 if effort.tiny else 5_000, how=way), spark, directory)
    for turn in range(effort.repetitions):
        for at, (name, _, case) in enumerate(cases):
            if turn == 0 or name != "E2":
                runs[at].append(_run(case, spark, directory))
    for at, (name, varied, case) in enumerate(cases):
        found = runs[at]
        middle = sorted(found, key=lambda each: each.seconds)[len(found) // 2]
        rows.append(
            [
                name,
                varied,
                case.how,
                f"{middle.seconds:.2f}",
                f"{median(each.latency for each in found):.3f}",
                f"{max(each.waiting for each in found):,}",
                f"{max(each.kept for each in found):,}",
                f"{middle.rows:,}",
            ]
        )
        raw.append({"case": rows[-1][:3], "seconds": [each.seconds for each in found]})
        print("  " + " | ".join(rows[-1]), flush=True)
    title = "MavStream's E1 to E3: a join over five windows"
    return Outcome("join_reuse", title, COLUMNS, rows, ["Medians."], raw)


def _cases(effort: Effort) -> Iterator[tuple[str, str, Case]]:
    small = Case(100 if effort.tiny else 5_000)
    for share in (None, 1.0, 0.5, 0.2, 0.05):
        bound = None if share is None else int(small.size * share)
        yield "E1", "unbounded" if bound is None else f"{bound:,}", replace(small, bound=bound)
    slow = Case(20 if effort.tiny else 300)
    for rate in (100, 200, 400, 800, 1600, 3000, 8000, FLOODED):
        yield "E2", f"{rate:,} a second" if rate else "at once", replace(slow, rate=rate)
    large = Case(100 if effort.tiny else 50_000)
    for overlap, how in itertools.product((0.1, 0.25, 0.5, 0.75), WAYS):
        yield "E3", f"{overlap:.0%}", replace(large, overlap=overlap, how=how)


def _run(case: Case, spark: SparkSession, directory: Path) -> Seen:
    collect_garbage(spark)
    bounds, seen = DEFAULT_BOUNDS, Seen()
    if case.bound is not None:
        bounds = replace(bounds, buffer_bytes=case.bound * ROW_BYTES)
    home, settings = directory / uuid4().hex, Settings()
    with penstock.connect(home, spark=spark, settings=settings, bounds=bounds) as ps:
        for name in "ab":
            ps.sql(f"CREATE STREAM {name} ({DDL}) TIMESTAMP BY ts FROM push()")
        window = f"[RANGE {case.size} SECONDS SLIDE {case.slide} SECONDS]"
        ps.sql(
            f"CREATE QUERY met WITH (join => '{case.how}') AS SELECT window_start, a.v, b.v AS w "
            f"FROM a {window} JOIN b {window} ON a.k = b.k"
        )
        ps.tap(seen.tap)
        began = seen.pushed = time.perf_counter()
        for place, (begin, end) in enumerate(_trains(case)):
            _wait_until(began + place * PACE_SECONDS if case.rate else began)
            seen.pushed = time.perf_counter()
            for seed, name in enumerate("ab"):
                ps.push(name, _rows(begin, end, seed))
            _look(ps, seen)
        for name in "ab":
            ps.end(name)
        while not ps.wait(PACE_SECONDS):
            _look(ps, seen)
            assert time.perf_counter() < began + PATIENCE_SECONDS, "it did not get through"
        seen.seconds = time.perf_counter() - began
    return seen


def _trains(case: Case) -> Sequence[tuple[int, int]]:
    """Return the tuples of each train: those of a tick, or a quarter of a window."""
    size = case.size // TRAINS_A_WINDOW if not case.rate else max(1, int(case.rate * PACE_SECONDS))
    return [(at, min(at + size, case.tuples)) for at in range(0, case.tuples, size)]


def _rows(begin: int, end: int, seed: int) -> pa.Table:
    """Return tuples of which one of each stream has each key, within a few of each other."""
    place = np.arange(begin, end)
    times = FIRST_DAY + place * SECOND
    return pa.table(
        {
            "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us", "UTC")),
            "k": pa.array(place ^ seed, pa.int64()),
            "v": pa.array(place, pa.int64()),
        }
    )


def _look(ps: Connection, seen: Seen) -> None:
    """See what waits, and what the join keeps."""
    topology = ps.system.supervisor.topology
    seen.waiting = max(seen.waiting, sum(each.figures().rows for each in topology.buffers))
    for live in topology.units.values():
        if isinstance(live.state, HopJoinState):
            parts = [*live.state.tuples.parts, *live.state.pairs.parts]
            seen.kept = max(seen.kept, sum(part.rows.count for part in parts))


def _wait_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.perf_counter()))
