"""Binding: the operators of what a statement defines, or what is wrong with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError
from penstock.model.definitions import QueryDefinition
from penstock.model.events import Mode
from penstock.plan.algebra.bounds import definitions
from penstock.plan.algebra.user_calls import marked
from penstock.plan.events.bind_event import EventBinder
from penstock.plan.operators import Operator, Scan, WindowAggregate, walk
from penstock.plan.select.bind import Binder
from penstock.plan.select.once import names_in
from penstock.plan.shedding.gated import shows_tuples
from penstock.plan.shedding.sampled import bind_sampled, why_whole
from penstock.plan.shedding.shed_by import bind_worth, by_worth, refuse_shed_by, worth_gate
from penstock.plan.windows.bind_aggregate import Emission
from penstock.plan.windows.bind_windows import MICROSECOND
from penstock.runtime.names.directory import KnownEvent, KnownQuery
from penstock.runtime.names.flows import FlowBinder, reads_of
from penstock.runtime.sources.history import gone_before
from penstock.sql import (
    CreateEvent,
    CreateQuery,
    CreateStream,
    SelectOnce,
    names_of,
    place_of_shed_by,
)

if TYPE_CHECKING:
    from penstock.runtime.system.system import System


def bind_query(system: "System", statement: CreateQuery) -> KnownQuery:
    """Return the query's operators, or raise what is wrong with it."""
    definition = statement.definition
    binder = Binder(
        lambda name: system.directory.source(name, definition.name, definition.stop_after),
        system.analyst,
        emission_of(definition),
        definition.join,
        flow_binder(system, definition),
    )
    tree = marked(statement.select, system.aggregates.known)
    allowed = definition.goals.max_error
    names = frozenset(names_in(statement.select)) | reads_of(statement.select, system.functions)
    foreign = system.directory.nodes_of(names)
    whole = why_whole(binder, tree) if allowed else ""
    with at_shed_by(statement):
        refuse_shed_by(definition.shed_by, allowed, whole)
    if not allowed or whole:
        return KnownQuery(definition, binder.bind(tree), names, whole, foreign)
    if not system.knows_bounds:
        system.sessions.teach(definitions())
        system.knows_bounds = True
    root = bind_sampled(binder, tree, allowed)
    with at_shed_by(statement):
        worth, name = definition.shed_by, tree.args["from_"].this.alias_or_name
        root = _by_worth(system, root, worth, name)
        return KnownQuery(definition, root, names, foreign=foreign)


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


def bind_text(system: "System", name: str, select: Any, text: str) -> KnownQuery:
    """Return a SELECT's operators as those of a query that is not there."""
    binder = Binder(
        lambda each: system.directory.source(each, "", None),
        system.analyst,
        flows=flow_binder(system),
    )
    root = binder.bind(marked(select, system.aggregates.known))
    return KnownQuery(QueryDefinition(name, text), root, frozenset())


def bind_subject(system: "System", subject: str | SelectOnce | CreateQuery) -> KnownQuery:
    """Return the query of a name, or one that is not there yet."""
    match subject:
        case str() as name:
            return system.directory.query(name)
        case CreateQuery() as create:
            return bind_query(system, create)
        case SelectOnce(select=select) as once:
            return bind_text(system, "this", select, once.text)


def _by_worth(system: "System", root: Operator, stated: str | None, name: str) -> Operator:
    """Return a query's operators over a gate that drops by worth, where that is asked for."""
    gate = worth_gate(root, stated)
    if gate is None:
        return root
    stream = gate.input.stream if isinstance(gate.input, Scan) else ""
    worth = stated or (system.directory.stream(stream).definition.shed_by if stream else None)
    if not worth or not (stated or shows_tuples(root)):
        return root
    return by_worth(root, bind_worth(worth, stream or name, gate.passed, system.analyst))


def flow_binder(system: "System", definition: QueryDefinition | None = None) -> FlowBinder:
    """Return what puts flows over streams for a query."""
    kinds = tuple(known.kind for known in system.types)
    return FlowBinder(system.functions, definition.sites if definition else "auto", kinds)


def know_event(system: "System", statement: CreateEvent) -> KnownEvent:
    """Return the event as it would be known; its operators depend on who reads it, and how."""
    definition, event = statement.definition, statement.event

    def bind(mode: Mode) -> Operator:
        return EventBinder(
            lambda name: system.directory.source(name, definition.name, None), system.analyst
        ).bind(event, mode)

    return KnownEvent(definition, event, frozenset(names_of(event)), bind)


def check_history(system: "System", known: KnownQuery) -> None:
    """Raise where a window that goes back needs tuples that are gone."""
    for node in walk(known.root):
        if isinstance(node, WindowAggregate) and node.hops.is_reverse and node.axis == "time":
            last = node.hops.last or 0
            needed = min(node.hops.begin, node.hops.start_of(last))
            for scan in (each for each in walk(node) if isinstance(each, Scan)):
                begins = system.topology.lost_before(scan)
                if begins is not None and begins > needed:
                    raise gone_before(scan.stream, begins)


def emission_of(definition: QueryDefinition) -> Emission:
    """Return when a query's windows give rows beside their close."""
    early, lateness = definition.emit_early, definition.allowed_lateness or timedelta(0)
    return Emission(None if early is None else early // MICROSECOND, lateness // MICROSECOND)
