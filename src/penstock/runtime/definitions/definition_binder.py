"""The definition binder: the operators of what a statement defines, or what is wrong with it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta

from penstock.engine.spark.analysis import SparkAnalyst
from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.user_aggregates import UserAggregates
from penstock.errors import PenstockError
from penstock.model.definitions import WHATEVER, QueryDefinition, Sites
from penstock.model.events import Mode
from penstock.plan.algebra.bounds import definitions
from penstock.plan.algebra.user_calls import marked
from penstock.plan.events.bind_event import EventBinder
from penstock.plan.operators import Operator, Scan, WindowAggregate, walk
from penstock.plan.relations.sources import Lookup, Source
from penstock.plan.select.bind import Binder
from penstock.plan.select.once import names_in
from penstock.plan.shedding.gated import shows_tuples
from penstock.plan.shedding.sampled import bind_sampled, why_whole
from penstock.plan.shedding.shed_by import bind_worth, by_worth, refuse_shed_by, worth_gate
from penstock.plan.windows.bind_aggregate import Emission
from penstock.plan.windows.bind_windows import MICROSECOND
from penstock.runtime.names.directory import Directory, KnownEvent, KnownQuery
from penstock.runtime.names.flows import FlowBinder, reads_of
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.runtime.names.stream_types import StreamTypes
from penstock.runtime.sources.history import gone_before
from penstock.runtime.topology.topology import Topology
from penstock.sql import (
    CreateEvent,
    CreateQuery,
    CreateStream,
    SelectOnce,
    names_of,
    place_of_shed_by,
)


@dataclass(slots=True)
class DefinitionBinder:
    """Binds over all that has a name; `analyst` says what Spark makes of an expression."""

    directory: Directory
    types: StreamTypes
    functions: KnownFunctions
    aggregates: UserAggregates
    sessions: Sessions
    analyst: SparkAnalyst = field(init=False)
    _knows_bounds: bool = False

    def __post_init__(self) -> None:
        """Ask a session of its own."""
        self.analyst = SparkAnalyst(self.sessions.analysis)

    def query(self, statement: CreateQuery) -> KnownQuery:
        """Return the query's operators, or raise what is wrong with it."""
        definition, allowed = statement.definition, statement.definition.goals.max_error
        binder = Binder(
            lambda name: self.directory.source(name, definition.name, definition.stop_after),
            self.analyst,
            emission_of(definition),
            definition.join,
            self._flows(definition.sites),
            definition.keeping or WHATEVER,
        )
        tree = marked(statement.select, self.aggregates.known)
        names = frozenset(names_in(statement.select)) | reads_of(statement.select, self.functions)
        foreign = self.directory.nodes_of(names)
        whole = why_whole(binder, tree) if allowed else ""
        with at_shed_by(statement):
            refuse_shed_by(definition.shed_by, allowed, whole)
        if not allowed or whole:
            return KnownQuery(definition, binder.bind(tree), names, whole, foreign)
        self._teach_bounds()
        root = bind_sampled(binder, tree, allowed)
        with at_shed_by(statement):
            name = tree.args["from_"].this.alias_or_name
            root = self._by_worth(root, definition.shed_by, name)
            return KnownQuery(definition, root, names, foreign=foreign)

    def rehearse(self, statement: CreateQuery) -> None:
        """Ask Spark ahead of time what binding the query will ask, while everything runs.

        Answers are remembered. What is wrong is told when it is bound: by then it may be right,
        such as where a statement before it in a script makes what it reads.
        """
        with suppress(Exception):
            self.query(statement)

    def subject(self, subject: str | SelectOnce | CreateQuery) -> KnownQuery:
        """Return the query of a name, or one that is not there yet."""
        match subject:
            case str() as name:
                return self.directory.query(name)
            case CreateQuery() as create:
                return self.query(create)
            case SelectOnce(select=select) as once:
                root = self.over(self.source).bind(marked(select, self.aggregates.known))
                return KnownQuery(QueryDefinition("this", once.text), root, frozenset())

    def event(self, statement: CreateEvent) -> KnownEvent:
        """Return the event as it would be known; its operators depend on who reads it, and how."""
        definition, event = statement.definition, statement.event

        def bind(mode: Mode) -> Operator:
            def source(name: str) -> Source | None:
                return self.directory.source(name, definition.name, None)

            return EventBinder(source, self.analyst).bind(event, mode)

        return KnownEvent(definition, event, frozenset(names_of(event)), bind)

    def source(self, name: str) -> Source | None:
        """Return what a name stands for, to a query without a name."""
        return self.directory.source(name, "", None)

    def over(self, lookup: Lookup) -> Binder:
        """Return what binds a SELECT that belongs to no query, over names as given."""
        return Binder(lookup, self.analyst, flows=self._flows("auto"))

    def _flows(self, sites: Sites) -> FlowBinder:
        """Return what puts flows over streams."""
        return FlowBinder(self.functions, sites, tuple(known.kind for known in self.types))

    def _teach_bounds(self) -> None:
        """Make the functions known to Spark that bound the error of samples: once, when needed."""
        if not self._knows_bounds:
            self.sessions.teach(definitions())
            self._knows_bounds = True

    def _by_worth(self, root: Operator, stated: str | None, name: str) -> Operator:
        """Return a query's operators over a gate that drops by worth, where that is asked for."""
        gate = worth_gate(root, stated)
        if gate is None:
            return root
        stream = gate.input.stream if isinstance(gate.input, Scan) else ""
        worth = stated or (self.directory.stream(stream).definition.shed_by if stream else None)
        if not worth or not (stated or shows_tuples(root)):
            return root
        return by_worth(root, bind_worth(worth, stream or name, gate.passed, self.analyst))


@contextmanager
def at_shed_by(statement: CreateQuery | CreateStream) -> Iterator[None]:
    """Give what is wrong with a SHED BY its place, or the statement's where that has none."""
    try:
        yield
    except PenstockError as error:
        has = statement.definition.shed_by
        own = place_of_shed_by(statement.text, statement.place) if has else statement.place
        error.place = error.place or own
        raise


def refuse_lost_history(topology: Topology, known: KnownQuery) -> None:
    """Raise where a window that goes back needs tuples that are gone."""
    for node in walk(known.root):
        if isinstance(node, WindowAggregate) and node.assigner.is_reverse and node.axis == "time":
            last = node.assigner.last or 0
            needed = min(node.assigner.begin, node.assigner.start_of(last))
            for scan in (each for each in walk(node) if isinstance(each, Scan)):
                begins = topology.lost_before(scan)
                if begins is not None and begins > needed:
                    raise gone_before(scan.stream, begins)


def emission_of(definition: QueryDefinition) -> Emission:
    """Return when a query's windows give rows beside their close."""
    early, lateness = definition.emit_early, definition.allowed_lateness or timedelta(0)
    return Emission(None if early is None else early // MICROSECOND, lateness // MICROSECOND)
