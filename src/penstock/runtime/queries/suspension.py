"""Suspension: queries that quality of service takes out while there is too much to do."""

from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.catalog import Catalog
from penstock.clock import Clock
from penstock.model.definitions import QueryState
from penstock.plan.operators import Scan
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.quality.suspension import Orders
from penstock.runtime.queries.live_queries import LiveQueries
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import Away, LiveQuery


@dataclass(frozen=True, slots=True)
class Suspension:
    """Takes queries out and calls them back; while quiesced."""

    topology: Topology
    catalog: Catalog
    cutter: GraphCutter
    queries: LiveQueries
    clock: Clock

    def obey(self, orders: Orders) -> None:
        """Do what is ordered about those who are too much."""
        running = self.topology.queries
        with self.catalog.together(), self.cutter.changing():
            for name, why in orders.suspend.items():
                if name in running and running[name].state is QueryState.RUNNING:
                    self.suspend(name, why)
            for name in sorted(orders.recall & self.topology.suspended.keys()):
                self.recall(name)

    def suspend(self, name: str, why: str) -> None:
        """Take a query out until there is room; who subscribed to it waits."""
        topology, now = self.topology, self.clock.now()
        query = topology.queries[name.lower()]
        query.missed_rows += _waiting(topology, query)
        query.away = away(topology, query, now)
        del topology.queries[name.lower()]
        topology.suspended[name.lower()] = query
        topology.gone.add(query.reader)
        since = datetime.fromtimestamp(now, UTC).isoformat(" ", "seconds")
        topology.set_state(query, QueryState.SUSPENDED, f"since {since}: {why}")
        self.cutter.changed()

    def recall(self, name: str) -> None:
        """Resume a suspended query, from the next tuples on."""
        before = self.topology.suspended.pop(name.lower())
        query = self.queries.go_on(before)
        query.missed_rows = missed_rows(self.topology, before)
        query.promise, query.deadline, query.meter = before.promise, before.deadline, before.meter


def away(topology: Topology, query: LiveQuery, now: float) -> Away:
    """Return that a query is away from now on."""
    names = {name for name, node in query.nodes.items() if isinstance(node, Scan)}
    return Away(
        now,
        {
            name: topology.source_readers[name].rows
            for name in names
            if name in topology.source_readers
        },
    )


def missed_rows(topology: Topology, query: LiveQuery) -> int:
    """Return how many tuples went by while a query was suspended, whenever that was."""
    if query.away is None:
        return query.missed_rows
    passed = (
        max(0, topology.source_readers[name].rows - rows)
        for name, rows in query.away.rows.items()
        if name in topology.source_readers
    )
    return query.missed_rows + sum(passed)


def _waiting(topology: Topology, query: LiveQuery) -> int:
    """Return how many tuples wait on the way to a query, and are not needed by it any more."""
    readers = {
        (live.reader, n) for live in topology.units_of(query).values() for n in live.unit.inputs
    }
    readers.add((query.reader, query.input))
    return sum(
        train.rows.count
        for reader, name in readers
        if (buffer := topology.buffers.get(name)) is not None and reader in buffer.readers()
        for train in buffer.waiting(reader)
    )
