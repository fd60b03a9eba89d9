"""What SHOW LOAD and EXPLAIN ESTIMATE say, beside what is measured, in the steady state.

Each workload runs at rates that make its measured load about 0.2, 0.5 and 0.9. The measured load is
the share of its time that the busiest part is at work: all slots together, or one unit, one source
or the supervisor, which do one thing at a time. What has reached 1 can do no more, while the
machine's CPU may still be half idle; the share of all cores stands beside it. It is measured by
looking every few milliseconds who is at work, which no estimate does.

Latencies are means of all rows in the measured time, from counters as well. One query of each
workload is created only after EXPLAIN ESTIMATE was asked for it.
"""

import json
import math
import os
import re
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

import penstock
from benchmarks.beside import beside
from benchmarks.cpu import sampling
from benchmarks.measurement import Effort, Outcome, median
from benchmarks.session import collect_garbage
from penstock.client import Connection
from penstock.engine.trains.rows import SMALL_ROWS
from penstock.runtime.work.worker_pool import WorkerPool

LOADS = (0.2, 0.5, 0.9)
NEAR = 1.3  # a load is what was wanted if it is not further off than by this factor
TRIES = 2  # at a rate that gives the load that is wanted
LOOK_SECONDS = 0.005
SUPERVISOR = "penstock"  # its thread
MOST_RATE = 2e6  # past it the source is what takes longest
LIMIT = 1.5  # the factor within which estimates are to be
ASKED = 5  # queries that estimates are taken of: each holds everything still for a moment
COLUMNS = (
    "workload",
    "rows/s",
    "measured load",
    "of all cores",
    "SHOW LOAD",
    "EXPLAIN",
    "latency",
    "EXPLAIN: factors",
    "new query: latency",
    "foretold",
    "load with it",
    "foretold load",
)


@dataclass(frozen=True, slots=True)
class Workload:
    """Queries over `readings`, and over `orders` where they are joined; the last one comes late."""

    name: str
    queries: Sequence[str]
    rate: float  # to begin with
    slower: float = 0.0  # by how much orders are slower, 0 without them

    def streams(self, rate: float) -> str:
        """Return the definitions of the streams."""
        found = _stream("readings", rate)
        return found + (_stream("orders", max(1.0, rate / self.slower)) if self.slower else "")


def _stream(name: str, rate: float) -> str:
    return f"""
        CREATE STREAM {name} (ts TIMESTAMP, k INT, v DOUBLE) TIMESTAMP BY ts
          SLACK INTERVAL 0.2 SECONDS
          FROM generator(rate => {rate:.0f}, k => CAST(n * 7 % 200 AS INT),
            v => CAST(n % 1000 AS DOUBLE) / 10, rows_per_train => {SMALL_ROWS});
    """


def _windows(seconds: str, many: int) -> list[str]:
    aggregates = ("count(*)", "sum(v)", "avg(v)", "max(v)", "min(v)")
    return [
        f"SELECT window_end, k, {aggregates[n % 5]} AS x FROM readings [RANGE {seconds}] "
        f"WHERE v > {n // 5} GROUP BY k"
        for n in range(many)
    ]


def _joins(many: int) -> list[str]:
    return [
        "SELECT r.ts, r.k, o.v FROM readings [RANGE 1 SECOND] AS r "
        f"JOIN orders [RANGE 1 SECOND] AS o ON r.k = o.k WHERE r.v > {n}"
        for n in range(many)
    ]


FILTERS = [
    f"SELECT ts, k, v * {n + 2} AS w FROM readings WHERE v * v + k > {9000 + 20 * n}"
    for n in range(20)
]
WORKLOADS = (
    Workload("20 filters", FILTERS, 300_000),
    Workload("20 windows of 1 s", _windows("1 SECOND", 20), 400_000),
    Workload("20 windows of 10 s", _windows("10 SECONDS", 20), 400_000),
    Workload("3 joins", _joins(3), 30_000, slower=20),
    Workload(
        "20 mixed",
        [
            *FILTERS[:6],
            *_windows("1 SECOND", 5),
            *_windows("10 SECONDS", 3),
            *_windows("4 SECONDS SLIDE 1 SECOND", 4),
            *_joins(1),
            "SELECT window_end, count(*) AS x FROM readings [RANGE 2 SECONDS]",
        ],
        100_000,
        slower=1000,
    ),
)


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long each phase takes: trying a rate, warming up, measuring."""

    trying: float
    warm: float
    measured: float


@dataclass(frozen=True, slots=True)
class Told:
    """What EXPLAIN ESTIMATE says, in seconds."""

    load: float
    latency: float


@dataclass(slots=True)
class Point:
    """What was measured of a workload at a rate, and what was told of it."""

    workload: str
    rate: float
    load: float = 0.0
    cores: float = 0.0
    shown: float = 0.0
    latencies: dict[str, float] = field(default_factory=dict)
    estimates: dict[str, Told] = field(default_factory=dict)
    foretold: Told = field(default_factory=lambda: Told(0.0, 0.0))

    @property
    def newest(self) -> str:
        """Return the query that came last."""
        return list(self.latencies)[-1]

    def factors(self) -> list[float]:
        """Return by how much each latency is over or under what was told, of those that ran."""
        return [told.latency / self.latencies[name] for name, told in self.estimates.items()]

    def worst(self) -> float:
        """Return the largest factor by which anything that was told is off."""
        told = [(self.shown, self.load), (self.foretold.load, self.load)]
        told += [(each.load, self.load) for each in self.estimates.values()]
        told += [(self.foretold.latency, self.latencies[self.newest])]
        ratios = [*self.factors(), *(one / other for one, other in told)]
        return max(max(each, 1 / each) if each > 0 else math.inf for each in ratios)

    def row(self) -> list[str]:
        """Return its line of the table."""
        factors = self.factors()
        asked = [self.latencies[name] for name in self.estimates]
        explained = median(each.load for each in self.estimates.values())
        return [
            self.workload,
            f"{self.rate:,.0f}",
            f"{self.load:.2f}",
            f"{self.cores:.2f}",
            f"{self.shown:.2f}",
            f"{explained:.2f}",
            f"{min(asked) * 1000:.0f} to {max(asked) * 1000:.0f} ms",
            f"{min(factors):.2f} to {max(factors):.2f}",
            f"{self.latencies[self.newest] * 1000:.0f} ms",
            f"{self.foretold.latency * 1000:.0f} ms",
            f"{self.load:.2f}",
            f"{self.foretold.load:.2f}",
        ]


def estimates(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure all workloads at all loads."""
    seconds = Seconds(2.0, 2.0, 3.0) if effort.tiny else Seconds(3.0, 14.0, 15.0)
    loads = LOADS[:1] if effort.tiny else LOADS
    benches = [Bench(spark, directory, workload, seconds) for workload in WORKLOADS]
    points: list[Point] = []
    for load in loads:
        for bench in benches:
            points.append(bench.at(load))
            print("  " + " | ".join(points[-1].row()), flush=True)
    worst = max(each.worst() for each in points)
    notes = (f"The worst of all figures is off by a factor of {worst:.2f}; {LIMIT} is the limit.",)
    title = f"SHOW LOAD and EXPLAIN ESTIMATE beside what is measured, {os.cpu_count()} cores"
    rows = [each.row() for each in points]
    return Outcome("estimates", title, COLUMNS, rows, notes, _plain(points))


def _plain(points: Sequence[Point]) -> Any:
    """Return the points for a file; JSON has no infinity, which is null there."""
    text = json.dumps([asdict(each) for each in points])
    return json.loads(text, parse_constant=lambda _: None)


@dataclass(slots=True)
class Bench:
    """One workload; `known` are the loads that rates have given."""

    spark: SparkSession
    directory: Path
    workload: Workload
    seconds: Seconds
    known: dict[float, float] = field(default_factory=dict)

    def at(self, load: float) -> Point:
        """Return what is measured and told at a rate that gives about this load."""
        for _ in range(TRIES):
            rate = self._rate(load)
            if (found := self._tried(rate)) is not None:
                self.known[rate] = found
                if 1 / NEAR < found / load < NEAR:
                    break
        return self._measured(self._rate(load))

    def _rate(self, load: float) -> float:
        """Return the rate that should give a load, by those that were tried nearest to it."""
        if not self.known:
            return self.workload.rate * load
        rates = sorted(self.known, key=lambda rate: abs(math.log(self.known[rate] / load)))
        if len(rates) == 1:
            return min(MOST_RATE, rates[0] * load / self.known[rates[0]])
        (x0, y0), (x1, y1) = sorted((math.log(r), math.log(self.known[r])) for r in rates[:2])
        slope = min(1.5, max(0.3, (y1 - y0) / (x1 - x0))) if x1 > x0 else 1.0
        nearest = rates[0]
        return float(min(MOST_RATE, nearest * (load / self.known[nearest]) ** (1 / slope)))

    def _tried(self, rate: float) -> float | None:
        with self._running(rate, self.workload.queries) as ps:
            time.sleep(self.seconds.trying)
            with _occupancy(ps) as found:
                time.sleep(self.seconds.trying)
            return found.load(ps.system.pool.slots)

    def _measured(self, rate: float) -> Point:
        point = Point(self.workload.name, rate)
        *first, late = self.workload.queries
        with self._running(rate, first) as ps, sampling(self.spark) as usage:
            time.sleep(self.seconds.warm)
            point.foretold = _told(ps, late)
            ps.sql(f"CREATE QUERY late AS {late}")
            time.sleep(self.seconds.warm / 2)
            before, began = _timed(ps), time.time()
            with _occupancy(ps) as found:
                point.shown = median(_shown_each_second(ps, self.seconds.measured))
            point.load, ended = found.load(ps.system.pool.slots), time.time()
            used = usage.between(began, ended)
            point.cores = used / (ended - began) / (os.cpu_count() or 1)
            point.latencies = _latencies(before, _timed(ps))
            self.known[rate] = point.load
            names = list(point.latencies)
            for name in names[:: max(1, len(names) // ASKED)]:
                point.estimates[name] = _told(ps, name)
        return point

    @contextmanager
    def _running(self, rate: float, queries: Sequence[str]) -> Iterator[Connection]:
        collect_garbage(self.spark)
        home = self.directory / uuid4().hex
        asked = "".join(f"CREATE QUERY q{n} AS {sql};" for n, sql in enumerate(queries))
        with penstock.connect(home, spark=self.spark) as ps:
            ps.script(self.workload.streams(rate) + asked)
            yield ps
        shutil.rmtree(home, ignore_errors=True)


def _shown_each_second(ps: Connection, seconds: float) -> list[float]:
    found = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(1)
        shown = ps.sql("SHOW LOAD").table
        assert shown is not None
        found.append(float(shown["load"][0].as_py()))
    return found


def _told(ps: Connection, query: str) -> Told:
    text = ps.sql(f"EXPLAIN ESTIMATE {query}").message
    loads = re.search(r"load +([\d.]+)(?:.*?, ([\d.]+) with it)?", text)
    latency = re.search(r"latency +(?:([\d.]+) (m?s)|for ever)", text)
    assert loads is not None
    assert latency is not None
    unit = {"ms": 0.001, "s": 1.0, None: math.inf}[latency[2]]
    return Told(float(loads[2] or loads[1]), float(latency[1] or 1) * unit)


@dataclass(slots=True)
class Occupancy:
    """How often each part was found at work, by its name among workers; slots by how many."""

    looks: int = 0
    busy: Counter[str] = field(default_factory=Counter)
    slots: int = 0

    def load(self, slots: int) -> float:
        """Return the share of the time that the busiest part was at work."""
        alone = [times / self.looks for times in self.busy.values()]
        return max(self.slots / self.looks / slots, *alone, 0.0)


@contextmanager
def _occupancy(ps: Connection) -> Iterator[Occupancy]:
    """Look every few milliseconds who is at work, until the block is left."""
    found, pool, topology = Occupancy(), ps.system.pool, ps.system.topology
    names = [f"source:{name}" for name in topology.source_readers]
    names += [live.reader for live in topology.units.values()]
    supervisor = next(each for each in threading.enumerate() if each.name == SUPERVISOR)

    def look(over: threading.Event) -> None:
        while not over.wait(LOOK_SECONDS):
            found.looks += 1
            found.slots += pool.slots - pool.free_slots
            found.busy.update(name for name in names if pool.is_busy(name))
            found.busy[SUPERVISOR] += not _waits_for_work(supervisor)

    with beside(look):
        yield found


def _waits_for_work(supervisor: threading.Thread) -> bool:
    """Say whether the supervisor is between two of its steps, by the calls that it is in."""
    frame = sys._current_frames().get(supervisor.ident or 0)
    while frame is not None:
        if frame.f_code is WorkerPool.wait.__code__:
            return True
        frame = frame.f_back
    return False


Timed = Mapping[str, tuple[int, float]]


def _timed(ps: Connection) -> Timed:
    """Return the rows of each query that were timed so far, and the seconds they took."""
    queries = ps.system.topology.queries.items()
    return {name: (live.meter.timed_rows, live.meter.latency_seconds) for name, live in queries}


def _latencies(before: Timed, after: Timed) -> dict[str, float]:
    """Return the mean latency of each query's rows between two moments."""
    found = {}
    for name, (rows, seconds) in after.items():
        rows_before, seconds_before = before[name]
        assert rows > rows_before, f"{name} delivered nothing"
        found[name] = (seconds - seconds_before) / (rows - rows_before)
    return found
