"""Queries and events as they are made, taken away and brought back; while quiesced."""

from dataclasses import dataclass

from penstock.catalog import CatalogEntry
from penstock.engine.connectors import sinks
from penstock.engine.spark.jobs.processor import Processor
from penstock.plan.operators.lateness import flows_in
from penstock.runtime.definitions.definition_binder import DefinitionBinder, refuse_lost_history
from penstock.runtime.definitions.kind import NOBODY, Enter, Newcomers
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.names.directory import KnownEvent, KnownQuery, watching
from penstock.runtime.queries.admission import Admission
from penstock.runtime.queries.live_queries import LiveQueries
from penstock.runtime.queries.sink_places import SinkPlaces
from penstock.sql import CreateEvent, CreateQuery


@dataclass(frozen=True, slots=True)
class QueryDefinitions:
    """Lets queries run, or wait for room; the processor says how many tasks run at once."""

    binder: DefinitionBinder
    queries: LiveQueries
    admission: Admission
    places: SinkPlaces
    processor: Processor

    def prepared(self, statement: CreateQuery) -> Enter:
        """Bind a query, and ask whether it has room."""
        definition, directory = statement.definition, self.binder.directory
        sinks.check(definition)
        self.places.refuse_sink(definition)
        known = self.binder.query(statement)
        refuse_lost_history(self.queries.topology, known)
        refused = self.admission.refusal(known)
        if refused is not None and not (definition.waits and refused.may_wait):
            raise refused.error(definition.name)
        replaces = directory.get(definition.name) is not None

        def enter(_: CatalogEntry) -> str:
            if replaces:  # the old one's state and its place are not those of the new one
                self.queries.cutter.reconnect()
            directory.add(known)
            if refused is not None:
                return self.admission.let_wait(known, refused)
            self.queries.start(known)
            return f"query {definition.name} runs{self._crowded(known)}"

        return enter

    def forget(self, known: KnownQuery) -> None:
        """Take a query away, with its results and late rows."""
        self.queries.forget(known.definition.name)
        self.queries.late.forget(known)

    def bring_back(
        self, statement: CreateQuery, entry: CatalogEntry, manifest: Manifest
    ) -> Newcomers:
        """Restore a query as it was."""
        known = self.binder.query(statement)
        self.binder.directory.add(known)
        is_new = self.queries.bring_back(known, entry, manifest)
        return Newcomers(queries=(known,)) if is_new else NOBODY

    def _crowded(self, known: KnownQuery) -> str:
        """Say where a flow has more branches than can run at once."""
        most = max((flow.stages.degree for flow in flows_in(known.root)), default=0)
        slots = self.processor.slots
        return f"; its {most} branches share {slots} slots" if most > slots else ""


@dataclass(frozen=True, slots=True)
class EventDefinitions:
    """Makes events known; who subscribes to one has its detections kept like a query's rows."""

    binder: DefinitionBinder
    queries: LiveQueries

    def prepared(self, statement: CreateEvent) -> Enter:
        """Bind an event."""
        known = self.binder.event(statement)
        known.root()

        def enter(_: CatalogEntry) -> str:
            self.binder.directory.add(known)
            return f"event {known.definition.name} created"

        return enter

    def forget(self, known: KnownEvent) -> None:
        """Take an event away, with the detections that were kept."""
        self.queries.forget(known.definition.name)

    def bring_back(
        self, statement: CreateEvent, entry: CatalogEntry, manifest: Manifest
    ) -> Newcomers:
        """Make an event known again, and keep its detections where somebody has subscribed."""
        event = self.binder.event(statement)
        self.binder.directory.add(event)
        if entry.state is None:
            return NOBODY
        watched = watching(event)
        is_new = self.queries.bring_back(watched, entry, manifest)
        return Newcomers(queries=(watched,)) if is_new else NOBODY
