"""Live queries: how they come into the topology, go, and are compared with what they delivered."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.catalog import Catalog, CatalogEntry
from penstock.clock import Clock
from penstock.engine.allowed import Allowed
from penstock.engine.connectors import sinks
from penstock.engine.sinks.files import FilesSink
from penstock.engine.sinks.sink import ALONE, Numbered, SinkSurroundings
from penstock.errors import PenstockError
from penstock.model.definitions import QueryState
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.durable.results import ResultLogs
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.queries.late_rows import LateRows
from penstock.runtime.topology.restoration import knows, refuse_unmatched, restore_finished
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery


@dataclass(frozen=True, slots=True)
class DeliveredBefore:
    """What queries have delivered: the journal knows how much, logs and sinks have the rows."""

    journal: Journal
    logs: ResultLogs
    allowed: Callable[[], Allowed]
    warn: Callable[[str], None]

    def rows(self, query: LiveQuery) -> int:
        """Return how many rows were delivered under a query's name."""
        return self.journal.delivered_rows(query.reader)

    def last(self, query: LiveQuery) -> int:
        """Return the number of the last delivery under a query's name."""
        return self.journal.last_delivery(query.reader)

    def compare(self, query: LiveQuery) -> None:
        """Set aside what a query's sink and log have and the journal does not know.

        Recorded runs are done again with the same rows, so what they gave may stay. Raise where a
        sink's files cannot be set aside.
        """
        known = max(self.last(query), query.delivered + len(query.replay))
        query.log.forget_above(known)
        for sink in query.sinks:
            if isinstance(sink, FilesSink):
                self.allowed().require_writable(sink.path)
                if told := sink.set_aside(known):
                    self.warn(f"query {query.name}: {told}")
            elif isinstance(sink, Numbered):
                sink.expect(known)


@dataclass(frozen=True, slots=True)
class LiveQueries:
    """Puts queries into the topology and takes them out; while quiesced."""

    topology: Topology
    catalog: Catalog
    cutter: GraphCutter
    delivered: DeliveredBefore
    late: LateRows
    clock: Clock
    around: SinkSurroundings = ALONE

    def run(self, known: KnownQuery) -> LiveQuery:
        """Put a query into the topology, behind what has been delivered under its name."""
        query = self.put(known, QueryState.RUNNING)
        self.compare(query)
        return query

    def put(self, known: KnownQuery, state: QueryState) -> LiveQuery:
        """Put a query into the topology whose results are not compared with the journal yet."""
        query = self.made(known, state)
        self.topology.finished.pop(query.name.lower(), None)
        self.topology.queries[query.name.lower()] = query
        return query

    def made(self, known: KnownQuery, state: QueryState) -> LiveQuery:
        """Return a query behind what has been delivered under its name, outside of the topology."""
        definition = known.definition
        log = self.delivered.logs.of(definition.name)
        query = LiveQuery(definition, known.root, log, state=state, foreign=known.foreign)
        if (sink := sinks.build(definition, self.around)) is not None:
            query.sinks.append(sink)
        query.since = self.clock.now()
        query.delivered = self.delivered.last(query)
        query.meter.rows = query.rows_settled = self.delivered.rows(query)
        if definition.stop_after is not None and definition.stop_after.interval is not None:
            query.deadline = self.clock.now() + definition.stop_after.interval.total_seconds()
        return query

    def compare(self, query: LiveQuery) -> None:
        """Set aside results that the journal does not know; hold the query where that fails."""
        try:
            self.delivered.compare(query)
        except PenstockError as error:
            self.topology.set_state(query, QueryState.FAILED, str(error))

    def start(self, known: KnownQuery) -> LiveQuery:
        """Run a query from the next tuples on, and let the catalog know."""
        # First: where its results cannot be compared, the catalog is told that it is held.
        self.catalog.set_state(known.definition.name, QueryState.RUNNING, "")
        query = self.run(known)
        self.cutter.changed()
        return query

    def go_on(self, before: LiveQuery) -> LiveQuery:
        """Run a query that was held outside, with its sinks and subscribers."""
        known = KnownQuery(before.definition, before.root, frozenset(), foreign=before.foreign)
        self.late.forget(known)
        query = self.start(known)
        query.sinks, query.opened = before.sinks, before.opened
        query.subscriptions = before.subscriptions
        return query

    def withdraw(self, name: str) -> None:
        """Take a query out of the topology; what only it needed goes with it."""
        topology, query = self.topology, self.topology.find_query(name)
        for held in (topology.queries, topology.suspended, topology.waiting):
            held.pop(name.lower(), None)
        if query is not None:
            query.end()
            query.close()
            topology.gone.add(query.reader)
        topology.finished.pop(name.lower(), None)
        self.cutter.changed()

    def forget(self, name: str) -> None:
        """Take a query out for good, with its results."""
        self.withdraw(name)
        self.delivered.logs.of(name).clear()

    def bring_back(self, known: KnownQuery, entry: CatalogEntry, manifest: Manifest) -> bool:
        """Restore a query; return whether it was defined after the checkpoint.

        Such a one has to wait until recorded runs are done again.
        """
        if entry.state is QueryState.FINISHED:
            self._bring_back_finished(known, manifest)
        if entry.state in (QueryState.STOPPED, QueryState.FINISHED):
            return False
        if entry.state in (QueryState.SUSPENDED, QueryState.WAITING):
            is_away = entry.state is QueryState.SUSPENDED
            held = self.topology.suspended if is_away else self.topology.waiting
            held[entry.name.lower()] = self.made(known, entry.state)
            held[entry.name.lower()].cause = entry.cause
            return False
        if knows(manifest, entry.name, known.root):
            self.put(known, entry.state or QueryState.RUNNING).cause = entry.cause
            return False
        refuse_unmatched(manifest, known.definition, known.root)
        # What could not be brought back before stays held: its state is gone, and that must be
        # told.
        return entry.state is not QueryState.FAILED

    def _bring_back_finished(self, known: KnownQuery, manifest: Manifest) -> None:
        definition = known.definition
        log = self.delivered.logs.of(definition.name)
        query = LiveQuery(definition, known.root, log, foreign=known.foreign)
        query.state = QueryState.FINISHED
        query.meter.rows = self.delivered.rows(query)
        restore_finished(query, manifest)
        self.topology.finished[definition.name.lower()] = query
