"""Query 1 of Wu's thesis in real time: what each way to keep tuples takes, loses and delays.

Three streams as `penstock simulate join_memory` has them, played four times as fast: S2 is
congested, S3 bursts. One way after the other joins the same tuples; the last is a join whose
factors are measured.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from benchmarks.measurement import Effort, Outcome
from benchmarks.session import collect_garbage
from penstock.engine.sinks.sink import Delivery
from penstock.experiments.thesis.joins.lifetimes import combinations
from penstock.experiments.thesis.joins.queries import scene
from penstock.experiments.thesis.joins.streams import KeyedStream
from penstock.experiments.trial import Effort as Trials

COLUMNS = (
    "way",
    "rows kept, mean",
    "most",
    "rows %",
    "latency, mean (s)",
    "half of the rows within (s)",
)
FASTER = 4.0
TRAIN_SECONDS = 0.1
LOOK_SECONDS = 0.5
PATIENCE_SECONDS = 120
TINY = 1e-9  # seconds: the last tuple comes, however its time is rounded
WARMING = 2.0  # seconds of the first play, which does not count
NAMES = ("s1", "s2", "s3")
STRATEGIES = ("plain", "dbf", "msf", "hybrid")


@dataclass(frozen=True, slots=True)
class Way:
    """What is said of the streams' orders, and of the query."""

    orders: Sequence[str]
    options: str


@dataclass(slots=True)
class Seen:
    """When each tuple was pushed, how long rows took after their last one, what was kept."""

    pushed: list[npt.NDArray[np.float64]]
    latencies: list[npt.NDArray[np.float64]] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)

    def tap(self, delivery: Delivery) -> None:
        """Note how long rows took."""
        now, rows = time.perf_counter(), delivery.rows
        if not rows.num_rows:
            return
        came = [
            pushed[rows[name].to_numpy()]
            for pushed, name in zip(self.pushed, ("i1", "i2", "i3"), strict=True)
        ]
        self.latencies.append(now - np.max(came, axis=0))


def join_strategies(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Play the streams once for each way."""
    streams = scene(1, 1, Trials(seconds=2.0 if effort.tiny else Trials().seconds)).streams
    every = sum(len(rows.times) for rows in combinations(streams))
    factors = [f" SCRAMBLED {each.factor}" for each in streams]
    _play(spark, directory, streams, Way(factors, "strategy => 'plain'"), WARMING)
    rows: list[list[str]] = []
    for name in STRATEGIES:
        seen = _play(spark, directory, streams, Way(factors, f"strategy => '{name}'"))
        rows.append(_line(name, seen, every))
    measured = Way([""] * len(streams), "strategy => 'plain'")
    seen = _play(spark, directory, streams, measured)
    rows.append(_line("plain, measured", seen, every))
    title = "Query 1 of the thesis in real time, four times as fast"
    notes = [f"{sum(len(each.keys) for each in streams):,} tuples; one play for each way."]
    return Outcome("join_strategies", title, COLUMNS, rows, notes)


def _line(name: str, seen: Seen, every: int) -> list[str]:
    latencies = np.concatenate(seen.latencies or [np.zeros(1)])
    kept = [f"{np.mean(seen.kept):,.0f}", f"{max(seen.kept):,}"] if seen.kept else ["", ""]
    found = [
        name,
        *kept,
        f"{100 * sum(map(len, seen.latencies)) / every:.2f}",
        f"{latencies.mean():.3f}",
        f"{np.median(latencies):.3f}",
    ]
    print("  " + " | ".join(found), flush=True)
    return found


def _play(
    spark: SparkSession,
    directory: Path,
    streams: Sequence[KeyedStream],
    way: Way,
    seconds: float = np.inf,
) -> Seen:
    """Push the streams as they come, and see what becomes of them."""
    collect_garbage(spark)
    seen = Seen([np.zeros(len(each.times)) for each in streams])
    with penstock.connect(directory / uuid4().hex, spark=spark) as ps:
        for name, order in zip(NAMES, way.orders, strict=True):
            ps.sql(f"CREATE STREAM {name} (n BIGINT, i BIGINT) ORDERED BY n{order} FROM push()")
        shown = ", ".join(f"{name}.i AS i{at + 1}" for at, name in enumerate(NAMES))
        on = " ".join(f"JOIN {name} ON s1.n = {name}.n" for name in NAMES[1:])
        ps.sql(f"CREATE QUERY met WITH ({way.options}) AS SELECT {shown} FROM s1 {on}")
        ps.tap(seen.tap)
        _push_all(ps, streams, seen, seconds)
        for name in NAMES:
            ps.end(name)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not ps.wait(TRAIN_SECONDS):
            assert time.monotonic() < deadline, "it did not get through"
    return seen


def _push_all(
    ps: penstock.client.Connection, streams: Sequence[KeyedStream], seen: Seen, seconds: float
) -> None:
    began, looked = time.perf_counter(), 0.0
    done = [0 for _ in streams]
    last = min(seconds, max(float(each.times[-1]) for each in streams) / FASTER)
    now = 0.0
    while now < last:
        now = min(time.perf_counter() - began, last)
        for place, stream in enumerate(streams):
            until = int(np.searchsorted(stream.times, now * FASTER + TINY, side="right"))
            part = slice(done[place], until)
            seen.pushed[place][part] = time.perf_counter()
            if until > done[place]:
                at = np.arange(done[place], until)
                ps.push(NAMES[place], pa.table({"n": stream.keys[part], "i": at}))
            done[place] = until
        if now - looked > LOOK_SECONDS:
            looked = now
            table = ps.sql("SHOW JOINS").table
            if table is not None and table.num_rows:
                seen.kept.append(sum(table["memory_rows"].to_pylist()))
        time.sleep(max(0.0, TRAIN_SECONDS - (time.perf_counter() - began - now)))
