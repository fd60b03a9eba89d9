"""Subscriptions: who reads the results of queries, and the detections of events."""

from dataclasses import dataclass

from penstock.engine.sinks.sink import Sink
from penstock.errors import BadQueryError
from penstock.model.definitions import QueryState
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.loop.quiescence import Quiescence
from penstock.runtime.names.directory import Directory, KnownEvent, watching
from penstock.runtime.queries.live_queries import LiveQueries
from penstock.runtime.work.subscription import MAX_ROWS, Subscription


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Gives queries their readers, in any thread."""

    directory: Directory
    quiescence: Quiescence
    queries: LiveQueries

    def subscribe(
        self, name: str, after: Position | None = START, max_rows: int = MAX_ROWS
    ) -> Subscription:
        """Return a reader of a query's results: after a position, or (None) from now on.

        Who subscribes to an event lets its detections be kept from then on, in mode recent.
        """
        if isinstance(event := self.directory.get(name), KnownEvent):
            self._watch(event)
        else:
            self.directory.query(name)
        with self.quiescence.resting():
            query = self.queries.topology.find_query(name)
            log = query.log if query is not None else self.queries.delivered.logs.of(name)
            subscription = Subscription(name, log=log, after=after, max_rows=max_rows)
            if query is not None:
                query.subscriptions.append(subscription)
                subscription.look()  # a sink's delivery may have come before it was there
            if query is None or query.state is QueryState.FINISHED:
                subscription.end()
        return subscription

    def attach(self, name: str, sink: Sink) -> None:
        """Give a running query one more sink."""
        self.directory.query(name)
        with self.quiescence.resting():
            query = self.queries.topology.find_query(name)
            if query is None:
                raise BadQueryError(f"query {name} does not run", hint="RESUME QUERY first")
            query.sinks.append(sink)

    def _watch(self, event: KnownEvent) -> None:
        """Keep an event's detections as a query's rows are kept, unless that is done already."""
        catalog = self.queries.catalog
        entry = catalog.get(event.definition.name)
        if entry is not None and entry.state is None:
            with self.quiescence.between_runs(), catalog.together():
                self.queries.start(watching(event))
