"""Recovery: what the catalog, the last checkpoint and the journal remember is put back."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.catalog import Entry
from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.spark.spark_life import refuse_dead
from penstock.errors import BadQueryError, HomeError, PenstockError, told
from penstock.model.definitions import FunctionDefinition, PythonFunction, QueryState
from penstock.plan.operators import Operator
from penstock.runtime.durable.manifest import Checkpoint, Manifest
from penstock.runtime.names.directory import KnownQuery, KnownTable, watching
from penstock.runtime.system.binding import bind_query, know_event
from penstock.runtime.system.defining import define_stream
from penstock.runtime.system.rules import bring_back as bring_back_rule
from penstock.runtime.system.rules import restore, stand
from penstock.runtime.system.steering import away
from penstock.runtime.topology.restoration import (
    checked,
    knows,
    put_back,
    refuse_unmatched,
    restore_finished,
    restore_suspended,
)
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.live_rule import LiveRule
from penstock.sql import (
    CreateEvent,
    CreateFunction,
    CreateQuery,
    CreateRule,
    CreateStream,
    CreateTable,
    CreateType,
    parse,
)

if TYPE_CHECKING:
    from penstock.runtime.system.system import System

# What reading files and records that are not whole may raise; all else is ours.
UNREADABLE = (pa.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError)


@dataclass(slots=True)
class Newcomers:
    """Queries and rules that were defined after the checkpoint; a rule with its event."""

    queries: list[KnownQuery] = field(default_factory=list)
    rules: list[tuple[LiveRule, Operator]] = field(default_factory=list)


def recover(system: "System") -> Newcomers:
    """Put back what the home remembers; return what was defined after its last checkpoint."""
    try:
        return _recover(system)
    except UNREADABLE as error:
        raise HomeError(
            f"what the home {system.home.path} keeps cannot be brought back: {told(error)}",
            hint="restore it from a copy; penstock check HOME tells what is whole",
        ) from error


def _recover(system: "System") -> Newcomers:
    """Take the last whole checkpoint, what is defined, then the state of what runs.

    Recorded runs are done again once the supervisor works; newcomers have to wait for that.
    """
    checkpoint = _whole_checkpoint(system)
    system.topology.checkpoint = checkpoint
    manifest = checkpoint.manifest if checkpoint else Manifest()
    newcomers = _bring_back_definitions(system, manifest)
    system.statistics.bring_back(manifest.statistics)
    system.control.bring_back(manifest.control)
    reconnect, now = system.cutter.reconnect, system.clock.now()
    put_back(system.topology, manifest, system.journal, system.home.state, reconnect, now)
    for feed in system.topology.feeds.values():
        if isinstance(feed.interface, Push) and feed.interface.notice:
            system.warn(f"stream {feed.definition.name}: {feed.interface.notice}")
    for query in system.topology.queries.values():
        system.compare_results(query)
    for query in system.topology.suspended.values():
        restore_suspended(query, manifest, away(system.topology, query, now))
    restore(system, manifest)
    system.lanes.look()
    return newcomers


def _bring_back_definitions(system: "System", manifest: Manifest) -> Newcomers:
    """Define everything again, in its order; what cannot be is held with the cause."""
    newcomers = Newcomers()
    for entry in system.catalog.all():
        try:
            _bring_back_one(system, entry, manifest, newcomers)
        except PenstockError as error:
            refuse_dead(error)
            system.catalog.set_state(entry.name, QueryState.FAILED, str(error))
    return newcomers


def _whole_checkpoint(system: "System") -> Checkpoint | None:
    """Return the newest checkpoint that is whole, and warn where that is not the last one."""
    numbers = system.journal.checkpoints()
    for number in numbers:
        found, damage = checked(system.journal, number, system.home.state)
        if found is not None and not damage:
            return found
        what = ", ".join(damage)
        if number != numbers[-1]:
            system.warn(
                f"the last checkpoint is damaged ({what}): what came after the one before it is "
                "done again"
            )
    if not numbers:
        return None
    raise HomeError(
        f"no checkpoint of the home {system.home.path} is whole: {what}",
        hint="restore the file from a copy, or start with another home",
    )


def add_newcomers(system: "System", newcomers: Newcomers) -> None:
    """Do what a death kept from being done: a replay may not cross a change of the graph."""
    if newcomers.queries or newcomers.rules:
        with system.quiescence.between_runs():
            for known in newcomers.queries:
                system.catalog.set_state(known.definition.name, QueryState.RUNNING)
                system.run_query(known)
            with system.cutter.changing():
                for rule, event in newcomers.rules:
                    stand(system, rule, event)
            system.cutter.reconnect()


def _bring_back_one(
    system: "System", entry: Entry, manifest: Manifest, newcomers: Newcomers
) -> None:
    statement = parse(entry.text)[0]
    match statement:
        case CreateType():
            system.types.add(system.types.made(statement.definition))
        case CreateFunction(definition=PythonFunction() as kept_function):
            system.functions.bring_back(kept_function)
        case CreateFunction(definition=FunctionDefinition() as written):
            system.functions.write(written)
        case CreateStream():
            definition = system.types.resolved(statement.definition)
            define_stream(system, definition, entry.incarnation)
        case CreateTable():
            schema = system.tables.bring_back(
                statement.definition, entry.incarnation, manifest.tables
            )
            system.directory.add(KnownTable(statement.definition, entry.incarnation, schema))
        case CreateQuery():
            known = bind_query(system, statement)
            system.directory.add(known)
            newcomers.queries += _bring_back_query(system, known, entry, manifest)
        case CreateEvent():
            event = know_event(system, statement)
            system.directory.add(event)
            if entry.state is not None:  # somebody has subscribed to it
                newcomers.queries += _bring_back_query(system, watching(event), entry, manifest)
        case CreateRule():
            newcomers.rules += bring_back_rule(system, statement, entry.incarnation, manifest)
        case _:
            raise BadQueryError(f"the catalog holds no definition of {entry.name}")


def _bring_back_query(
    system: "System", known: KnownQuery, entry: Entry, manifest: Manifest
) -> list[KnownQuery]:
    """Let a query go on as it was; return it where it was defined after the checkpoint."""
    if entry.state is QueryState.FINISHED:
        _bring_back_finished(system, known, manifest)
    if entry.state in (QueryState.STOPPED, QueryState.FINISHED):
        return []
    if entry.state in (QueryState.SUSPENDED, QueryState.WAITING):
        is_away = entry.state is QueryState.SUSPENDED
        held = system.topology.suspended if is_away else system.topology.waiting
        held[entry.name.lower()] = system.live_query(known, entry.state)
        held[entry.name.lower()].cause = entry.cause
        return []
    if knows(manifest, entry.name, known.root):
        system.put_query(known, entry.state or QueryState.RUNNING).cause = entry.cause
        return []
    refuse_unmatched(manifest, known.definition, known.root)
    # What could not be brought back before stays held: its state is gone, and that must be told.
    return [] if entry.state is QueryState.FAILED else [known]


def _bring_back_finished(system: "System", known: KnownQuery, manifest: Manifest) -> None:
    definition = known.definition
    log = system.result_log(definition.name)
    query = LiveQuery(definition, known.root, log, foreign=known.foreign)
    query.state = QueryState.FINISHED
    query.meter.rows = system.journal.delivered_rows(query.reader)
    restore_finished(query, manifest)
    system.topology.finished[definition.name.lower()] = query
