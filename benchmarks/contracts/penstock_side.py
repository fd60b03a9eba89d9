"""Penstock's side: with gates, without, and with readings dropped before they come in."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from benchmarks.contracts.judging import Found, Phase, Watch, judged
from benchmarks.contracts.scene import (
    MAX_ERROR,
    QUERIES,
    STREAM,
    TRAIN_SECONDS,
    Query,
    amounts,
    train,
)
from penstock.client import Connection

SLOTS = 2
WARM_SECONDS, WARM_SHARE = 15.0, 0.6  # of the capacity: else compilers' work would be measured
CALM_SECONDS, CALM_RATE = 4.0, 500
PATIENCE_SECONDS = 15.0  # after a load's end: what is not answered by then never was
FULL_ROWS, FULL_TRAINS = 10_000, 10
GATES, NONE, UNIFORM = "gates", "no shedding", "uniform drop"


def run(phase: Phase, seconds: float) -> Found:
    """Let so much come for so long, wait until all is done, and judge."""
    with system(MAX_ERROR if phase.mode == GATES else 0.0) as connection:
        drawn = np.random.default_rng(2)
        source_reader(connection, drawn, amounts("constant", warm_rate(phase), WARM_SECONDS))
        source_reader(connection, drawn, amounts("constant", CALM_RATE, CALM_SECONDS))
        drain(connection, PATIENCE_SECONDS)
        keep = min(1.0, 1 / phase.load) if phase.mode == UNIFORM else 1.0
        watch = Watch(1 / keep)
        connection.system.supervisor.taps.append(
            lambda delivery: watch.hear(delivery.query, delivery.rows)
        )
        began = time.time()
        pushed = source_reader(connection, drawn, amounts(phase.traffic, phase.rate, seconds), keep)
        over = time.time()
        source_reader(
            connection, drawn, amounts("constant", CALM_RATE, 2.0)
        )  # closes the last windows
        drain(connection, PATIENCE_SECONDS)
        return judged(phase, watch, pa.concat_tables(pushed), (began, over))


def warm_rate(phase: Phase) -> float:
    """Return the readings a second that come while everybody warms up."""
    return phase.rate / phase.load * WARM_SHARE


def capacity(dispatcher: int = 3) -> int:
    """Return the rows a second that the queries do together when all is there at once."""
    with system() as connection:
        return round(float(np.median(_full(connection, dispatcher))))


def _full(connection: Connection, dispatcher: int) -> list[float]:
    """Return the rows a second of each turn in which all is there at once."""
    drawn = np.random.default_rng(1)
    source_reader(connection, drawn, amounts("constant", CALM_RATE, CALM_SECONDS))
    found: list[float] = []
    for _ in range(dispatcher + 1):
        drain(connection, 120.0)
        began = time.monotonic()
        for _ in range(FULL_TRAINS):
            connection.push("readings", train(FULL_ROWS, drawn))
        done = drain(connection, 300.0)
        found.append(FULL_ROWS * FULL_TRAINS / (done - began))
    return found[1:]  # the first compiles


@contextmanager
def system(
    max_error: float | None = 0.0,
    spark: SparkSession | None = None,
    queries: Sequence[Query] = QUERIES,
) -> Iterator[Connection]:
    """Give a system with some queries of the scene, in a Spark of its own or in that one."""
    with (
        tempfile.TemporaryDirectory() as home,
        penstock.connect(home, master=f"local[{SLOTS}]", spark=spark) as connection,
    ):
        connection.sql(STREAM)
        for query in queries:
            connection.sql(query.sql(max_error))
        yield connection


def source_reader(
    connection: Connection, drawn: np.random.Generator, rows: Sequence[int], keep: float = 1.0
) -> list[pa.Table]:
    """Push a train at a time; return all that came, also what was not kept."""
    pushed, began = [], time.monotonic()
    for number, count in enumerate(rows):
        time.sleep(max(0.0, began + (number + 1) * TRAIN_SECONDS - time.monotonic()))
        pushed.append(train(count, drawn))
        kept = pushed[-1]
        if keep < 1:
            kept = kept.filter(pa.array(drawn.random(kept.num_rows) < keep))
        connection.push("readings", kept)
    return pushed


def drain(connection: Connection, seconds: float) -> float:
    """Wait until nothing is left to do, at most so long; return when that was."""
    until, quiet, since = time.monotonic() + seconds, 0, time.monotonic()
    while quiet < 10 and time.monotonic() < until:
        supervisor, topology = connection.system.supervisor, connection.system.topology
        still = supervisor._pool.is_idle and not topology.buffers.waited_for()
        if not still or not quiet:
            since = time.monotonic()
        quiet = quiet + 1 if still else 0
        time.sleep(0.05)
    return since
