"""Phases: the same load under one strategy after the other, in one running system."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from benchmarks.scheduling.load import STREAMS, Query, train
from penstock.client import Connection
from penstock.engine.sinks.sink import Delivery

SAMPLE_SECONDS = 0.05
TRAIN_SECONDS = 0.5
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Found:
    """What a phase came to; `seconds` are those until all was done.

    Every tuple of a stream counts once for each query over it, as in the documents, so that the
    mean latency is that of the queries' means; `row_latency` is that of the rows that came out.
    """

    strategy: str
    utility: float
    mean_latency: float
    row_latency: float
    p95_latency: float
    mean_bytes: float
    peak_bytes: int
    seconds: float
    busy_seconds: float
    deciding_seconds: float
    on_time: dict[str, float]
    latency: dict[str, float]
    units: int


@dataclass
class Watch:
    """Hears every delivery and looks at what waits."""

    connection: Connection
    validity: dict[str, float]  # by query
    latencies: dict[str, list[np.ndarray]] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def tap(self, delivery: Delivery) -> None:
        """Note how late each row is."""
        times = delivery.rows["ts"].cast("int64").to_numpy() / 1e6
        self.latencies.setdefault(delivery.query, []).append(time.time() - times)

    def sample(self) -> None:
        """Note the bytes that somebody must still read, until it is over."""
        buffers = self.connection.system.topology.buffers
        while not self._over.wait(SAMPLE_SECONDS):
            unread = (train for each in buffers.waited_for() for train in each.unread())
            self.sizes.append(sum(train.info.size for train in unread))

    def stop(self) -> None:
        """Look no more."""
        self._over.set()


def run_phase(
    connection: Connection, queries: Sequence[Query], strategy: str, rate: int, seconds: float
) -> Found:
    """Push so many tuples a second to each stream, wait until all is done, and count."""
    connection.sql(f"SET STRATEGY {strategy}")
    dispatcher = connection.system.supervisor.control.dispatcher
    before = (dispatcher.statistics.busy_seconds, dispatcher.deciding_seconds)
    names = list(STREAMS)
    validity = {q.name: float(STREAMS[names[n % len(names)]]) for n, q in enumerate(queries)}
    watch = Watch(connection, validity)
    taps = connection.system.supervisor.taps
    taps.append(watch.tap)
    sampler = threading.Thread(target=watch.sample)
    sampler.start()
    began = time.monotonic()
    _push(connection, rate, seconds)
    drain(connection)
    taken = time.monotonic() - began
    watch.stop()
    sampler.join()
    taps.remove(watch.tap)
    units = len(connection.system.topology.units)
    busy, deciding = (
        dispatcher.statistics.busy_seconds - before[0],
        dispatcher.deciding_seconds - before[1],
    )
    return _found(strategy, watch, queries, (taken, busy, deciding), units)


def _push(connection: Connection, rate: int, seconds: float) -> None:
    """Push trains at their times; their rows do not wait for those who run."""
    rows, began = round(rate * TRAIN_SECONDS), time.monotonic()
    for number in range(round(seconds / TRAIN_SECONDS)):
        time.sleep(max(0.0, began + number * TRAIN_SECONDS - time.monotonic()))
        for name in STREAMS:
            connection.push(name, train(rows, number * rows))


def drain(connection: Connection) -> None:
    """Wait until nothing waits and nobody is at work."""
    supervisor, topology = connection.system.supervisor, connection.system.topology
    until, quiet = time.monotonic() + PATIENCE_SECONDS, 0
    while quiet < 10:
        if causes := [live.cause for live in list(topology.units.values()) if live.cause]:
            raise RuntimeError(causes[0])
        if time.monotonic() > until:
            raise TimeoutError("the load is never done")
        still = supervisor._pool.is_idle and not topology.buffers.waited_for()
        quiet = quiet + 1 if still else 0
        time.sleep(SAMPLE_SECONDS)


def _found(
    strategy: str,
    watch: Watch,
    queries: Sequence[Query],
    spent: tuple[float, float, float],
    units: int,
) -> Found:
    late = {name: np.concatenate(parts) for name, parts in watch.latencies.items()}
    missing = [query.name for query in queries if query.name not in late]
    assert not missing, f"no rows of {missing}"
    on_time = {n: float((each <= watch.validity[n]).mean()) for n, each in late.items()}
    weights = {query.name: query.weight for query in queries}
    everything = np.concatenate(list(late.values()))
    means = {name: float(each.mean()) for name, each in late.items()}
    return Found(
        strategy,
        sum(weights[n] * share for n, share in on_time.items()) / sum(weights.values()),
        fmean(means.values()),
        float(everything.mean()),
        float(np.quantile(everything, 0.95)),
        fmean(watch.sizes),
        max(watch.sizes),
        *spent,
        on_time,
        means,
        units,
    )
