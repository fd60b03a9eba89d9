"""Steering: queries stopped, started, altered and suspended, rules enabled and disabled.

By statements, by rules, and by what quality of service orders.
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from penstock.model.definitions import QueryState
from penstock.model.goals import Terms
from penstock.model.rules import Alter, Steer, Verb
from penstock.plan.operators import Scan
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.quality.suspending import Orders
from penstock.runtime.system.rules import set_enabled
from penstock.runtime.system.sink_places import refuse_sink
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import Away, LiveQuery
from penstock.sql import amended

if TYPE_CHECKING:
    from penstock.runtime.system.system import System


def steer(system: "System", what: Steer | Alter) -> None:
    """Start, stop or alter a query, enable or disable a rule, as an action asks; in any thread."""
    with system.quiescence.quiesced(), system.catalog.together(), system.cutter.changing():
        match what:
            case Alter(name, terms):
                alter_query(system, name, terms)
            case Steer(verb, name):
                _turn(system, verb, name)


def _turn(system: "System", verb: Verb, name: str) -> None:
    """Do what is to be done, or nothing where that is so already."""
    live = system.topology.queries.get(name.lower())
    match verb:
        case "ENABLE" | "DISABLE":
            set_enabled(system, name, verb == "ENABLE")
        case "STOP":
            if system.topology.standing(name) is not None:
                stop_query(system, name)
        case "START":
            if live is None or live.state is not QueryState.RUNNING:
                resume_query(system, name)


def stop_query(system: "System", name: str) -> str:
    """Stop a query; while quiesced."""
    known = system.directory.query(name)
    system.withdraw(name)
    system.catalog.set_state(known.definition.name, QueryState.STOPPED, "")
    return f"query {name} stopped"


def resume_query(system: "System", name: str) -> str:
    """Let a query go on; while quiesced."""
    known = system.directory.query(name)
    refuse_sink(system, known.definition)
    if (query := system.topology.queries.get(name.lower())) is not None:
        system.topology.resume(query)
        return f"query {name} runs"
    if name.lower() in system.topology.suspended:
        recall_query(system, name)
        return f"query {name} runs, from the next tuples on"
    if (waited := system.topology.waiting.pop(name.lower(), None)) is not None:
        let_go_on(system, waited)
        return f"query {name} runs, without having waited for room"
    system.forget_late(known)
    system.run_query(known)
    system.catalog.set_state(known.definition.name, QueryState.RUNNING, "")
    system.cutter.changed()
    return f"query {name} runs, from the next tuples on"


def alter_query(system: "System", name: str, terms: Terms) -> str:
    """Give a query other goals; its operators, its state and who reads it stay.

    Where it has them already nothing is done, so that doing it again is doing it once.
    """
    known = system.directory.query(name)
    old = known.definition
    goals = terms.applied(old.goals)
    if goals == old.goals:
        return f"query {old.name} stands like this already"
    new = replace(old, goals=goals, text=amended(old, goals))
    system.catalog.amend(old.name, new.text)
    system.directory.add(replace(known, definition=new))
    topology = system.topology
    for held in (topology.queries, topology.suspended, topology.waiting, topology.finished):
        if (query := held.get(old.name.lower())) is not None:
            query.alter(new)
    return f"query {old.name} is altered"


def measure(system: "System", orders: Orders) -> None:
    """Do what is ordered about those who are too much; while quiesced."""
    topology = system.topology
    with system.catalog.together(), system.cutter.changing():
        for name, why in orders.suspend.items():
            if name in topology.queries and topology.queries[name].state is QueryState.RUNNING:
                suspend_query(system, name, why)
        for name in sorted(orders.recall & topology.suspended.keys()):
            recall_query(system, name)


def suspend_query(system: "System", name: str, why: str) -> None:
    """Take a query out until there is room, while quiesced; who subscribed to it waits."""
    topology, now = system.topology, system.clock.now()
    query = topology.queries[name.lower()]
    query.missed_rows += _waiting(topology, query)
    query.away = away(topology, query, now)
    del topology.queries[name.lower()]
    topology.suspended[name.lower()] = query
    topology.gone.add(query.reader)
    since = datetime.fromtimestamp(now, UTC).isoformat(" ", "seconds")
    topology.set_state(query, QueryState.SUSPENDED, f"since {since}: {why}")
    system.cutter.changed()


def recall_query(system: "System", name: str) -> None:
    """Let a suspended query go on, from the next tuples on; while quiesced."""
    before = system.topology.suspended.pop(name.lower())
    query = let_go_on(system, before)
    query.missed_rows = missed_rows(system.topology, before)
    query.promise, query.deadline, query.meter = before.promise, before.deadline, before.meter


def let_go_on(system: "System", before: LiveQuery) -> LiveQuery:
    """Run a query that was held outside, with its sinks and subscribers; while quiesced."""
    known = KnownQuery(before.definition, before.root, frozenset(), foreign=before.foreign)
    system.forget_late(known)
    query = system.run_query(known)
    query.sinks, query.opened = before.sinks, before.opened
    query.subscriptions = before.subscriptions
    system.catalog.set_state(query.name, QueryState.RUNNING, "")
    system.cutter.changed()
    return query


def away(topology: Topology, query: LiveQuery, now: float) -> Away:
    """Return that a query is away from now on."""
    names = {name for name, node in query.nodes.items() if isinstance(node, Scan)}
    return Away(now, {name: topology.feeds[name].rows for name in names if name in topology.feeds})


def missed_rows(topology: Topology, query: LiveQuery) -> int:
    """Return how many tuples went by while a query was suspended, whenever that was."""
    if query.away is None:
        return query.missed_rows
    passed = (
        max(0, topology.feeds[name].rows - rows)
        for name, rows in query.away.rows.items()
        if name in topology.feeds
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
