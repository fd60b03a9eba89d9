"""The scene: queries over one stream of readings, some of which allow an error."""

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

KEYS = 20
WINDOW = 1_000_000  # microseconds
TRAIN_SECONDS = 0.2
MAX_LATENCY, MAX_ERROR = 3.0, 0.15
ROUNDS = 60  # of hashing for each tuple of a rough query: what makes it dear
STREAM = "CREATE STREAM readings (ts TIMESTAMP, k INT, v DOUBLE) TIMESTAMP BY ts FROM push()"


@dataclass(frozen=True, slots=True)
class Query:
    """A query: what it weighs, and whether it allows an error."""

    name: str
    weight: int
    rounds: int
    rough: bool

    def sql(self, *, may_shed: bool) -> str:
        """Return the statement that makes it."""
        error = f", max_error => {MAX_ERROR}" if self.rough and may_shed else ""
        goals = f"max_latency => INTERVAL {MAX_LATENCY:g} SECONDS, weight => {self.weight}{error}"
        work = "v"
        if self.rounds:
            steps = f"sequence(1, {self.rounds})"
            work = f"v + 0 * aggregate({steps}, k, (a, x) -> a ^ hash(a, x))"
        return (
            f"CREATE QUERY {self.name} WITH ({goals}) FORCE AS SELECT window_start, k, "
            f"count(*) AS c, sum({work}) AS total FROM readings [RANGE 1 SECONDS] GROUP BY k"
        )


QUERIES = (
    *(Query(f"rough{n}", 1 + 3 * n, ROUNDS + 10 * n, rough=True) for n in range(4)),
    Query("exact", 5, 0, rough=False),
)


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
