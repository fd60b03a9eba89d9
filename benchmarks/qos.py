"""What quality of service costs by itself, without Spark: `python -m benchmarks.qos`."""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from penstock.qos.load.load import Outlook, load_of
from penstock.qos.load.network import Network, NetworkNode
from penstock.qos.monitor.stream import StreamMonitor
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.controller import NOT_SHEDDING, adjusted
from penstock.qos.shedding.gates import DropGate
from penstock.schedule.costs.work import Crossing


def fastest(action: Callable[[], object], times: int = 30) -> float:
    """Return the seconds of the quickest of some runs: others ran beside a busy machine."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        found.append(time.perf_counter() - start)
    return min(found)


def train(rows: int, second: int) -> pa.Table:
    """Return a train of times with some disorder, and words as keys."""
    drawn = np.random.default_rng(second)
    micros = (second + np.arange(rows) / rows - drawn.exponential(0.1, rows)) * 1e6
    times = pa.array(micros.astype(np.int64)).cast(pa.timestamp("us", "UTC"))
    keys = pa.array(drawn.integers(0, 1000, rows)).cast(pa.string())
    return pa.table({"ts": times, "k": keys})


def monitor_seconds(rows: int, now: float) -> float:
    """Return what one train costs a monitor that has seen many, with keys or without."""
    monitor = StreamMonitor("ts", "k")
    for second in range(30):
        monitor = monitor.add(train(rows, second), float(second))
    last = train(rows, 30)
    return fastest(lambda: monitor.add(last, now))


def gate_seconds(rows: int) -> float:
    """Return what a random gate costs a train in numpy."""
    trains, numbers = np.zeros(rows, dtype=np.int64), np.arange(rows)
    return fastest(lambda: DropGate(0.5, 7).passes(trains, numbers))


def controller_seconds(queries: int) -> float:
    """Return what one decision costs for queries over one stream that share its first operator."""
    nodes = {"shared": NetworkNode({"s": Crossing(1e-4, 1.0)})}
    nodes |= {f"n{n}": NetworkNode({"shared": Crossing(1e-4, 1.0)}) for n in range(queries)}
    network = Network(nodes, {"s": 2e4 / queries}, {f"q{n}": f"n{n}" for n in range(queries)})
    limits = {f"q{n}": Limit(0.3 + n % 7 / 10, 1.0 + n % 5) for n in range(queries)}
    seen = {name: Outlook(load, load, 0.0) for name, load in load_of(network).items()}

    def decide() -> object:
        return adjusted(NOT_SHEDDING, replace(network), seen, limits, 0.0)

    return fastest(decide, 3)


def main() -> None:
    """Print a table of each."""
    for rows in (100, 1000, 10_000, 100_000):
        print(
            f"train of {rows:7,} rows: monitor {1e6 * monitor_seconds(rows, 29.1):8,.0f} µs, "
            f"with keys {1e6 * monitor_seconds(rows, 100.0):8,.0f} µs, "
            f"gate {1e6 * gate_seconds(rows):8,.0f} µs"
        )
    for queries in (10, 100, 1000):
        print(f"{queries:5,} queries: a decision {1e3 * controller_seconds(queries):8.1f} ms")


if __name__ == "__main__":
    main()
