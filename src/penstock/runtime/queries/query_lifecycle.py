"""The lifecycle of queries: stopped, resumed and altered, by statements and by rules."""

from dataclasses import dataclass, replace

from penstock.catalog import Catalog
from penstock.model.definitions import QueryState
from penstock.model.goals import Terms
from penstock.runtime.names.directory import Directory
from penstock.runtime.queries.live_queries import LiveQueries
from penstock.runtime.queries.sink_places import SinkPlaces
from penstock.runtime.queries.suspension import Suspension
from penstock.sql import amended


@dataclass(frozen=True, slots=True)
class QueryLifecycle:
    """Changes queries that are defined; while quiesced. Returns what to say."""

    directory: Directory
    catalog: Catalog
    queries: LiveQueries
    suspension: Suspension
    places: SinkPlaces

    def stop(self, name: str) -> str:
        """Stop a query."""
        known = self.directory.query(name)
        self.queries.withdraw(name)
        self.catalog.set_state(known.definition.name, QueryState.STOPPED, "")
        return f"query {name} stopped"

    def resume(self, name: str) -> str:
        """Resume a query."""
        known, topology = self.directory.query(name), self.queries.topology
        self.places.refuse_sink(known.definition)
        if (query := topology.queries.get(name.lower())) is not None:
            topology.resume(query)
            return f"query {name} runs"
        if name.lower() in topology.suspended:
            self.suspension.recall(name)
            return f"query {name} runs, from the next tuples on"
        if (waited := topology.waiting.pop(name.lower(), None)) is not None:
            self.queries.go_on(waited)
            return f"query {name} runs, without having waited for room"
        self.queries.late.forget(known)
        self.queries.start(known)
        return f"query {name} runs, from the next tuples on"

    def alter(self, name: str, terms: Terms) -> str:
        """Give a query other goals; its operators, its state and who reads it stay.

        Where it has them already nothing is done, so that doing it again is doing it once.
        """
        known, topology = self.directory.query(name), self.queries.topology
        old = known.definition
        goals = terms.applied(old.goals)
        if goals == old.goals:
            return f"query {old.name} stands like this already"
        new = replace(old, goals=goals, text=amended(old, goals))
        self.catalog.amend(old.name, new.text)
        self.directory.add(replace(known, definition=new))
        for held in (topology.queries, topology.suspended, topology.waiting, topology.finished):
            if (query := held.get(old.name.lower())) is not None:
                query.alter(new)
        return f"query {old.name} is altered"
