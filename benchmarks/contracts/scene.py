"""The scene: queries over one stream of readings, some of which allow an error, and its traffic."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.sim.workloads.arrivals import b_model, constant

KEYS = 20
WINDOW = 1_000_000  # microseconds
TRAIN_SECONDS = 0.2
CALM_SECONDS, BURST_SECONDS, PERIOD_SECONDS = 1.0, 2.0, 6.0  # before the first burst; of bursts
MAX_LATENCY, MAX_ERROR = 3.0, 0.15
ROUNDS = 150  # of hashing for each tuple of a rough query: what makes it dear
SCHEMA = "ts TIMESTAMP, k INT, v DOUBLE"
STREAM = f"CREATE STREAM readings ({SCHEMA}) TIMESTAMP BY ts FROM push()"
TRAFFIC = ("constant", "bursty", "b-model")


@dataclass(frozen=True, slots=True)
class Query:
    """A query: what it weighs, and whether it allows an error."""

    name: str
    weight: int
    rounds: int
    rough: bool

    @property
    def total(self) -> str:
        """Return its sum, over readings that cost something to look at."""
        if not self.rounds:
            return "sum(v)"
        steps = f"sequence(1, {self.rounds})"
        return f"sum(v + 0 * aggregate({steps}, k, (a, x) -> a ^ hash(a, x)))"

    def sql(self, max_error: float | None) -> str:
        """Return the statement that makes it; with no error to allow it reads through no gate.

        With None it has no contract at all.
        """
        return (
            f"CREATE QUERY {self.name} {self._goals(max_error)}AS SELECT window_start, k, "
            f"count(*) AS c, {self.total} AS total FROM readings [RANGE 1 SECONDS] GROUP BY k"
        )

    def _goals(self, max_error: float | None) -> str:
        if max_error is None:
            return ""
        error = f", max_error => {max_error:.9f}" if self.rough and max_error else ""
        latency = f"max_latency => INTERVAL {MAX_LATENCY:g} SECONDS"
        return f"WITH ({latency}, weight => {self.weight}{error}) FORCE "


QUERIES = (
    *(Query(f"rough{n}", 1 + 3 * n, ROUNDS + 20 * n, rough=True) for n in range(4)),
    Query("exact", 5, 0, rough=False),
)


def amounts(traffic: str, rate: float, seconds: float) -> Sequence[int]:
    """Return how many readings each train has."""
    trains = round(seconds / TRAIN_SECONDS)
    if traffic == "bursty":
        return [_in_bursts(rate, number * TRAIN_SECONDS) for number in range(trains)]
    times = {
        "constant": lambda: constant(rate, seconds),
        "b-model": lambda: b_model(rate, seconds, seed=3, bias=0.65),
    }[traffic]()
    counts = np.histogram(times, bins=trains, range=(0.0, seconds))[0]
    return [max(1, int(count)) for count in counts]  # time goes on


def _in_bursts(rate: float, at: float) -> int:
    """Return the readings of a train in bursts that have the rate on the average."""
    is_burst = (at - CALM_SECONDS) % PERIOD_SECONDS < BURST_SECONDS
    return round(rate * PERIOD_SECONDS / BURST_SECONDS * TRAIN_SECONDS) if is_burst else 1


def train(rows: int, drawn: np.random.Generator) -> pa.Table:
    """Return readings of the last moments, in order."""
    now = time.time_ns() // 1000
    times = np.sort(drawn.integers(now - round(TRAIN_SECONDS * 1e6), now, rows))
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array(drawn.integers(0, KEYS, rows), pa.int32()),
            "v": pa.array(drawn.exponential(3.0, rows)),
        }
    )
