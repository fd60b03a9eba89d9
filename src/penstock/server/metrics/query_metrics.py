"""What queries delivered, how late, what waits for them, and what became of their contracts."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from penstock.catalog import Catalog
from penstock.model.definitions import QueryState
from penstock.qos.monitor.durations import Durations
from penstock.runtime.names.directory import Directory
from penstock.runtime.quality.waiting_trains import Waiting, waiting_for, waits_in
from penstock.runtime.queries.suspension import missed_rows
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.relations.contracts import KeepRate, gates_before
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.promise import Promise
from penstock.server.metrics.figure import Counter, Figure, Gauge, Histogram, families

LABELS = ("query",)


@dataclass(frozen=True, slots=True)
class SeenQuery:
    """A query as it stands; `shed_rows` and `keep` are of the gates that it reads through."""

    live: LiveQuery
    waiting: Waiting
    late_rows: int | None
    missed_rows: int
    shed_rows: int | None
    keep: float | None

    @property
    def latencies(self) -> tuple[Durations, float] | None:
        """Return the latencies of its rows, and their sum, once it has delivered some."""
        meter = self.live.meter
        return (meter.latencies, meter.latency_seconds) if meter.timed_rows else None

    @property
    def delays(self) -> tuple[Durations, float] | None:
        """Return the delays of its rows, and their sum, once it has delivered some."""
        meter = self.live.meter
        return (meter.delays, meter.delay_seconds) if meter.timed_rows else None

    @property
    def subscriptions(self) -> int:
        """Return how many readers its results have."""
        return sum(not each.closed for each in list(self.live.subscriptions))


@dataclass(frozen=True, slots=True)
class SeenPromise:
    """A query that was promised something; what was measured counts since it is warm."""

    promise: Promise
    now: float

    @property
    def is_kept(self) -> float | None:
        """Return 1 where it is kept and 0 where it is broken; None while it is warming."""
        if not self.promise.is_warm(self.now):
            return None
        return float(self.promise.verdict().is_kept)

    @property
    def max_latency(self) -> float | None:
        """Return the seconds that were promised."""
        promised = self.promise.contract.max_latency
        return promised if math.isfinite(promised) else None

    @property
    def late_ratio(self) -> float | None:
        """Return the share of tuples that took longer than that."""
        account = self.promise.account
        return account.late / account.tuples if account.tuples else None

    @property
    def wrong_ratio(self) -> float | None:
        """Return the share of answers that were further off than promised."""
        account = self.promise.account
        return account.wrong / account.answers if account.answers else None


QUERY_FIGURES: Sequence[Figure[SeenQuery]] = (
    Counter("penstock_query_rows", "Rows that a query has delivered.", lambda q: q.live.meter.rows),
    Histogram(
        "penstock_query_latency_seconds",
        "From the arrival of the newest tuple in a row to its delivery: what contracts promise.",
        lambda q: q.latencies,
    ),
    Histogram(
        "penstock_query_delay_seconds",
        "From when a row could be answered to its delivery: what Penstock itself took.",
        lambda q: q.delays,
    ),
    Gauge(
        "penstock_query_queued_rows",
        "Rows that wait on the way to a query.",
        lambda q: q.waiting.rows,
    ),
    Gauge(
        "penstock_query_queued_bytes",
        "Bytes of the rows that wait on the way to a query.",
        lambda q: q.waiting.size,
    ),
    Counter(
        "penstock_query_late_rows",
        "Rows that came too late for a query's windows.",
        lambda q: q.late_rows,
    ),
    Counter(
        "penstock_query_shed_rows",
        "Rows that gates have dropped before a query.",
        lambda q: q.shed_rows,
    ),
    Gauge(
        "penstock_query_keep_ratio",
        "The share of rows that the gates before a query let through now.",
        lambda q: q.keep,
    ),
    Counter(
        "penstock_query_missed_rows",
        "Rows that went by while a query was suspended.",
        lambda q: q.missed_rows or None,
    ),
    Gauge(
        "penstock_query_subscriptions",
        "Readers that follow a query's results.",
        lambda q: q.subscriptions,
    ),
)
CONTRACT_FIGURES: Sequence[Figure[SeenPromise]] = (
    Gauge(
        "penstock_query_contract_kept",
        "1 where a query's contract is kept, 0 where it is broken; nothing while it is warming.",
        lambda p: p.is_kept,
    ),
    Gauge(
        "penstock_query_contract_latency_seconds",
        "The latency that a query was promised.",
        lambda p: p.max_latency,
    ),
    Gauge(
        "penstock_query_contract_late_ratio",
        "The share of a query's tuples that took longer than promised.",
        lambda p: p.late_ratio,
    ),
    Gauge(
        "penstock_query_contract_error_ratio",
        "The error that a query may have.",
        lambda p: p.promise.contract.max_error,
    ),
    Gauge(
        "penstock_query_contract_wrong_ratio",
        "The share of a query's answers that were further off than promised.",
        lambda p: p.wrong_ratio,
    ),
)


def query_metrics(topology: Topology, keep_rate: KeepRate, now: float) -> Iterator[Metric]:
    """Yield the metrics of all queries that are here, those that have ended among them."""
    held = (topology.finished, topology.waiting, topology.suspended, topology.queries)
    queries = {name: each for group in held for name, each in list(group.items())}
    waits = waits_in(topology.buffers)
    seen = [
        ((live.name,), _seen(live, topology, keep_rate, waiting_for(live, topology, waits)))
        for live in queries.values()
    ]
    yield from families(QUERY_FIGURES, LABELS, seen)
    promises = [
        ((live.name,), SeenPromise(live.promise, now)) for live in queries.values() if live.promise
    ]
    yield from families(CONTRACT_FIGURES, LABELS, promises)


def _seen(live: LiveQuery, topology: Topology, keep_rate: KeepRate, waiting: Waiting) -> SeenQuery:
    gates = gates_before(live, topology)
    return SeenQuery(
        live,
        waiting,
        None if live.away is not None else topology.late_rows(live),  # not known while it is away
        missed_rows(topology, live),
        sum(each.rows_in - each.rows_out for each in gates) if gates else None,
        math.prod(map(keep_rate, gates)) if gates else None,
    )


def state_metric(directory: Directory, catalog: Catalog) -> Metric:
    """Return the state of every query that is defined, as a label."""
    found = GaugeMetricFamily(
        "penstock_query_state",
        "1 for the state that a query is in: RUNNING, FAILED, STOPPED, SUSPENDED, WAITING or "
        "FINISHED.",
        labels=("query", "state"),
    )
    for entry in catalog.all():
        if entry.kind == "QUERY":
            is_back = directory.get(entry.name) is not None  # it is not, such as over a lost table
            state = (entry.state or QueryState.RUNNING) if is_back else QueryState.FAILED
            found.add_metric((entry.name, state.value), 1.0)
    return found
