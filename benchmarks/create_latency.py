"""Whom CREATE disturbs: rows of two probes while 100 queries come back to back, and without them.

A probe's row is timed from the push that brings it about to its subscriber: a tuple's own for the
filter, the one that closes the window for the windows. Every round looks at quiet seconds first,
and then creates; the queries of a round are dropped before the next one.
"""

import itertools
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

import penstock
from benchmarks.many import penstock_sql
from benchmarks.many.kinds import query_set
from benchmarks.many.load import Load, write_load
from benchmarks.many.pushing import Probes, pushing
from benchmarks.measurement import Effort, Outcome, median, quantile
from benchmarks.session import collect_garbage
from penstock.client import Connection

ADDED = 100
BESIDE = (0, 10)  # mixed queries that stand from the beginning
KINDS = ("thresholds", "mixed")
COLUMNS = (
    *("added", "beside", "probe", "p50 ms before", "while", "after"),
    *("p99 ms before", "while", "after", "while / before", "while / without", "ms to add one"),
)
PROBE_QUERIES = """
CREATE QUERY probe_filter AS SELECT ts, mph FROM traffic WHERE mph >= 0;
CREATE QUERY probe_windows AS
  SELECT window_end, count(*) AS cars FROM traffic [RANGE 100 MILLISECONDS];
"""
PROBE_TIMES = {"filter": "ts", "windows": "window_end"}
SETTLE_SECONDS = 2.0  # for the rows of what was pushed last
NOTES = (
    f"{ADDED} queries, one after the other, beside the probes and none or some mixed queries.",
    "Before: the probes and what stands beside them. After: all that was added stands, too.",
    "Without: the seconds before and after of the same rounds, in which nothing is created.",
)


@dataclass(slots=True)
class Spans:
    """When queries were created, the time before and after that, and how long each took."""

    before: list[tuple[float, float]] = field(default_factory=list)
    creating: list[tuple[float, float]] = field(default_factory=list)
    after: list[tuple[float, float]] = field(default_factory=list)
    took: list[float] = field(default_factory=list)


def create_latency(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure each kind of query, alone and beside others, in a home of its own."""
    rows, raw = [], []
    for kind, beside in itertools.product(KINDS, BESIDE):
        collect_garbage(spark)
        home = directory / uuid4().hex
        probes, spans = Probes(), Spans()
        with _running(spark, home, beside, probes) as connection:
            for number in range(1 + (1 if effort.tiny else effort.repetitions)):
                seen = Spans() if number == 0 else spans  # in the first round all is warmed up
                _round(connection, kind, seen, 2.0 if effort.tiny else 8.0)
        shutil.rmtree(home, ignore_errors=True)
        raw.append({"kind": kind, "beside": beside, "seconds": spans.took, "milliseconds": {}})
        for probe, found in probes.latencies().items():
            seen_in = [_within(found, each) for each in (spans.before, spans.creating, spans.after)]
            rows.append([f"{ADDED} {kind}", str(beside), probe, *_cells(seen_in, spans.took)])
            raw[-1]["milliseconds"][probe] = seen_in
            print("  " + " | ".join(rows[-1]), flush=True)
    title = f"Rows of probes while {ADDED} queries are created back to back"
    return Outcome("create_latency", title, COLUMNS, rows, NOTES, raw)


def _cells(found: Sequence[Sequence[float]], took: Sequence[float]) -> list[str]:
    """Return the figures of the times before, while and after queries are created."""
    before, _, after = found
    ends = [quantile(each, 0.99) for each in found]
    without = quantile([*before, *after], 0.99)
    return [
        *(f"{quantile(each, 0.5):.1f}" for each in found),
        *(f"{each:.1f}" for each in ends),
        f"{ends[1] / ends[0]:.2f}x",
        f"{ends[1] / without:.2f}x",
        f"{1000 * median(took):.0f}",
    ]


def _within(
    found: Sequence[tuple[float, float]], spans: Sequence[tuple[float, float]]
) -> list[float]:
    """Return the latencies of what was pushed within one of the spans."""
    return [round(ms, 2) for at, ms in found if any(a <= at < b for a, b in spans)]


@contextmanager
def _running(spark: SparkSession, home: Path, beside: int, probes: Probes) -> Iterator[Connection]:
    """Give a system with probes and some queries, and a steady push into it."""
    load = Load(home.with_suffix(".load"), rows=2, batches=1, warm=1)
    write_load(load)
    standing = map(penstock_sql.create, query_set("mixed", beside, seed=5))
    with penstock.connect(home, spark=spark) as connection:
        connection.script(penstock_sql.pushed_streams(load) + PROBE_QUERIES)
        if beside:
            connection.script("".join(text.replace(" q", " beside_q", 1) for text in standing))
        readers = [_reading(connection, probe, probes) for probe in PROBE_TIMES]
        with pushing(lambda row: connection.push("traffic", [row]), probes):
            yield connection
            time.sleep(SETTLE_SECONDS)
        for subscription, reader in readers:
            subscription.close()
            reader.join()


def _reading(
    connection: Connection, probe: str, probes: Probes
) -> tuple[penstock.Subscription, threading.Thread]:
    subscription = connection.subscribe(f"probe_{probe}", after=None)

    def read() -> None:
        for row in subscription:
            probes.note(probe, row[PROBE_TIMES[probe]])

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    return subscription, reader


def _round(connection: Connection, kind: str, spans: Spans, seconds: float) -> None:
    """Look at the quiet, create, look again, and drop what was created."""
    spans.before.append(_quiet(seconds))
    queries, began = query_set(kind, ADDED), time.time()
    for query in queries:
        before = time.perf_counter()
        connection.sql(penstock_sql.create(query))
        spans.took.append(time.perf_counter() - before)
    spans.creating.append((began, time.time()))
    time.sleep(SETTLE_SECONDS)
    spans.after.append(_quiet(seconds))
    connection.script("".join(f"DROP QUERY {query.name};\n" for query in queries))
    time.sleep(SETTLE_SECONDS)


def _quiet(seconds: float) -> tuple[float, float]:
    began = time.time()
    time.sleep(seconds)
    return began, time.time()
