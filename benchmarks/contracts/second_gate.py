"""Two gates in a row, on Spark: what each keeps as load comes and goes.

A query shows readings and allows a fifth of them to be missing; a dear one over it allows half.
"""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

import penstock
from benchmarks.beside import beside
from benchmarks.contracts.penstock_side import SLOTS, drain, source_reader
from benchmarks.contracts.scene import MAX_LATENCY, STREAM, Query, amounts
from penstock.client import Connection
from penstock.plan.operators import Gate

RATE = 20_000  # what both queries do easily
SHOWN, SUMS = 0.2, 0.5  # the errors that they allow
WARM_SECONDS, SECONDS, PATIENCE_SECONDS = 20.0, 12.0, 30.0
LOADS = (0.5, 3.0, 0.5)
GOALS = f"max_latency => INTERVAL {MAX_LATENCY:g} SECONDS"


@dataclass(slots=True)
class Step:
    """A load, the least that each gate kept in it, and when nothing was dropped any more."""

    load: float
    keeps: dict[float, float] = field(default_factory=dict)
    open_after: float = 0.0


def steps() -> list[Step]:
    """Let the loads come one after the other."""
    dear = Query("sums", 1, 300, rough=True).total
    with (
        tempfile.TemporaryDirectory() as home,
        penstock.connect(home, master=f"local[{SLOTS}]") as connection,
    ):
        connection.sql(STREAM)
        connection.sql(
            f"CREATE QUERY shown WITH ({GOALS}, max_error => {SHOWN}) FORCE AS "
            "SELECT ts, k, v FROM readings WHERE v > 0; "
            f"CREATE QUERY sums WITH ({GOALS}, max_error => {SUMS}) FORCE AS SELECT window_start, "
            f"k, count(*) AS c, {dear} AS total FROM shown [RANGE 1 SECONDS] GROUP BY k"
        )
        drawn = np.random.default_rng(1)
        source_reader(connection, drawn, amounts("constant", RATE / 2, WARM_SECONDS))
        return [_step(connection, drawn, load) for load in LOADS]


def _step(connection: Connection, drawn: np.random.Generator, load: float) -> Step:
    step = Step(load)
    with _watching(connection, step):
        source_reader(connection, drawn, amounts("constant", RATE * load, SECONDS))
    drain(connection, PATIENCE_SECONDS if load > 1 else 1.0)
    shown = connection.sql("SHOW QUERIES").table
    for row in shown.to_pylist() if shown is not None else ():
        if row["state"] != "RUNNING":
            raise RuntimeError(f"{row['query']} is {row['state']}: {row['cause']}")
    return step


@contextmanager
def _watching(connection: Connection, step: Step) -> Iterator[None]:
    """Look at the gates ten times a second."""
    began = time.monotonic()

    def watch(over: threading.Event) -> None:
        keeper = connection.system.supervisor.quality.shedding_controller
        while not over.wait(0.1):
            for live in list(connection.system.topology.units.values()):
                if isinstance(gate := live.unit.root, Gate):
                    kept = keeper.share(live, connection.system.clock.now())
                    step.keeps[gate.max_error] = min(kept, step.keeps.get(gate.max_error, 1.0))
                    if kept < 1:
                        step.open_after = time.monotonic() - began

    with beside(watch):
        yield
