"""Statements, carried out one by one."""

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from penstock.catalog import Entry
from penstock.engine import sinks
from penstock.errors import (
    BadQueryError,
    InUseError,
    NameTakenError,
    NotRepeatableError,
    PenstockError,
    Place,
    UnknownNameError,
)
from penstock.model.definitions import Definition, QueryState
from penstock.model.rules import RuleDefinition
from penstock.plan.operators import key
from penstock.plan.select.punctuation import bind_punctuation
from penstock.runtime.names.directory import (
    KnownEvent,
    KnownQuery,
    KnownRule,
    KnownStream,
    KnownTable,
)
from penstock.runtime.names.stream_types import catalog_name, create_type, drop_type
from penstock.runtime.statements.making_functions import create_function, drop_function
from penstock.runtime.statements.once import run_once
from penstock.runtime.statements.settings import set_decider, set_timeout
from penstock.runtime.system.binding import bind_query, bind_subject, check_history, know_event
from penstock.runtime.system.defining import check_stream, define_stream, define_table, remove_feed
from penstock.runtime.system.prospect import Prospect, room_for
from penstock.runtime.system.rules import create_rule, forget_rule, retry_rule, set_enabled
from penstock.runtime.system.sink_places import refuse_sink
from penstock.runtime.system.steering import alter_query, resume_query, stop_query
from penstock.runtime.system.system import System
from penstock.runtime.system.waiting import admit, let_wait
from penstock.runtime.system.written_files import write_file
from penstock.runtime.views.description import describe
from penstock.runtime.views.explain.estimate import estimate_text
from penstock.runtime.views.explain.event_graph import event_text
from penstock.runtime.views.explain.plan import Explainer, graph_text
from penstock.runtime.views.explain.schedule import schedule_json, schedule_text
from penstock.runtime.views.relations.sites import SITES, crowded, site_rows
from penstock.runtime.views.schema import show
from penstock.runtime.views.site_report import sites_as_json, write_sites
from penstock.sql import (
    AlterQuery,
    AlterRule,
    CreateEvent,
    CreateFunction,
    CreateQuery,
    CreateRule,
    CreateStream,
    CreateTable,
    CreateType,
    Describe,
    Drop,
    Explain,
    ExplainAll,
    ExplainEstimate,
    ExplainEvent,
    ExplainSchedule,
    OptimizeQuery,
    Punctuate,
    ResumeQuery,
    RetryRule,
    SelectOnce,
    SetDecider,
    SetTimeout,
    Show,
    Statement,
    StopQuery,
    parse,
    place_of_call,
    place_of_present,
)

CHANGES = (
    CreateStream
    | CreateTable
    | CreateType
    | CreateFunction
    | CreateQuery
    | CreateEvent
    | CreateRule
    | AlterRule
    | AlterQuery
    | RetryRule
    | Drop
    | StopQuery
    | ResumeQuery
    | Punctuate
    | SetDecider
)
KINDS = {
    KnownStream: "STREAM",
    KnownTable: "TABLE",
    KnownQuery: "QUERY",
    KnownEvent: "EVENT",
    KnownRule: "RULE",
}


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gave: a sentence, or rows, or a text such as a plan.

    Attributes:
        message: a sentence, or the text of EXPLAIN; empty where there are rows.
        table: the rows of SELECT, SHOW or DESCRIBE as an Arrow table, otherwise None.
    """

    message: str = ""
    table: pa.Table | None = None


def approved() -> None:
    """Have nothing against what stands."""


def execute(system: System, text: str, approve: Callable[[], None] = approved) -> list[Result]:
    """Carry out a script. Sources start only when all of it stands.

    Where a statement fails, or `approve` raises once all stands, what the script added is dropped
    before anything has flowed: the corrected script meets the home as it was. What it dropped or
    replaced is gone.
    """
    try:
        return _execute(system, parse(text), approve)
    except PenstockError as error:
        if error.place is not None and not error.place.source:
            error.place = replace(error.place, source=text)
        raise


def _execute(
    system: System, statements: list[Statement], approve: Callable[[], None]
) -> list[Result]:
    if not any(isinstance(each, CHANGES) for each in statements):
        results = [_placed(system, each) for each in statements]
        approve()
        return results
    failure: PenstockError | None = None
    with system.quiescence.between_runs(), system.catalog.together():
        before = {entry.name.lower() for entry in system.catalog.all()}
        try:
            results = _carried_out(system, statements)
            approve()
        except PenstockError as error:
            failure = error
            _take_back(system, before)
        if system.topology.waiting:
            admit(system)
    if failure is not None:  # raised here: the checkpoint and the catalog are to be written
        raise failure
    return results


def _carried_out(system: System, statements: list[Statement]) -> list[Result]:
    results: list[Result] = []
    for alike in _runs_of_one_kind(statements):
        with system.cutter.changing():
            results += [_placed(system, each) for each in alike]
    return results


def _take_back(system: System, before: set[str]) -> None:
    """Drop what the catalog has besides these, the last first: it may read what was made before.

    What something reads that was replaced has to stay.
    """
    added = [entry for entry in system.catalog.all() if entry.name.lower() not in before]
    with system.cutter.changing():
        for entry in reversed(added):
            with suppress(InUseError):
                _drop(system, _drop_of(entry))


def _drop_of(entry: Entry) -> Drop:
    apart = entry.kind in ("TYPE", "FUNCTION")
    name = entry.name.removeprefix(catalog_name(entry.kind, "")) if apart else entry.name
    return Drop(entry.text, Place(1, 1), entry.kind, name, if_exists=True)


def _runs_of_one_kind(statements: list[Statement]) -> list[list[Statement]]:
    """Return the script in parts after each of which the graph must be as the script says.

    Where queries only come, or only go, it is the same whether it is cut after each or once.
    """
    return [list(alike) for _, alike in itertools.groupby(statements, type)]


def _placed(system: System, statement: Statement) -> Result:
    """Carry out a statement; what is wrong is told where that stands, or at its beginning."""
    try:
        return carry_out(system, statement)
    except PenstockError as error:
        error.place = error.place or _place_of(error, statement)
        raise


def _place_of(error: PenstockError, statement: Statement) -> Place:
    """Return where a statement has what is wrong with it, or where it begins."""
    text, begin, found = statement.text, statement.place, None
    if isinstance(error, NotRepeatableError) and error.present:
        found = place_of_present(text, begin)
    elif isinstance(error, NotRepeatableError) and error.call:
        found = place_of_call(text, begin, error.call)
    return found or begin


def carry_out(system: System, statement: Statement) -> Result:
    """Carry out one statement; changes only while quiesced."""
    match statement:
        case CreateStream():
            return _create_stream(system, statement)
        case CreateType(definition=kind):
            leave, replaces = statement.if_not_exists, statement.or_replace
            told = create_type(system.types, system.catalog, kind, leave=leave, replaces=replaces)
            return Result(told)
        case CreateFunction():
            return Result(create_function(system, statement))
        case CreateTable():
            return _create_table(system, statement)
        case CreateQuery():
            return _create_query(system, statement)
        case CreateEvent():
            return _create_event(system, statement)
        case CreateRule():
            return _create_rule(system, statement)
        case AlterRule(name=name, enabled=enabled):
            return Result(set_enabled(system, name, enabled))
        case AlterQuery(name=name, terms=terms):
            return Result(alter_query(system, name, terms))
        case RetryRule(name=name):
            return Result(retry_rule(system, name))
        case Drop():
            return _drop(system, statement)
        case StopQuery(name=name):
            return Result(stop_query(system, name))
        case ResumeQuery(name=name):
            return Result(resume_query(system, name))
        case OptimizeQuery(name=name):
            return Result(system.tuner.optimize(name))
        case Punctuate():
            return _punctuate(system, statement)
        case SetDecider():
            return Result(set_decider(system, statement))
        case SetTimeout():
            return Result(set_timeout(system, statement))
        case Show() if statement.name or statement.as_json or statement.into:
            return _sites(system, statement)
        case Show(what=what):
            return Result(table=show(system.inspected, what))
        case Describe(name=name):
            return Result(table=describe(system.directory, system.types, system.functions, name))
        case Explain(subject=subject):
            explainer = Explainer(system.supervisor, system.sessions, system.tuner)
            return Result(explainer.text(bind_subject(system, subject)))
        case ExplainEvent(name=name, form=form):
            return Result(event_text(system.directory, system.supervisor, name, form))
        case ExplainAll(form=form):
            return Result(graph_text(system.supervisor, form))
        case ExplainEstimate(subject=subject):
            known = bind_subject(system, subject)
            return Result(estimate_text(known, system.supervisor, partial(Prospect, system)))
        case ExplainSchedule():
            return _schedule(system, statement)
        case SelectOnce(select=select):
            return Result(table=run_once(system, select))
        case _:
            raise BadQueryError(f"{type(statement).__name__} cannot be carried out")


def _sites(system: System, statement: Show) -> Result:
    """Show the sites of one query, or write what sites did."""
    rows = site_rows(system.directory, system.supervisor, statement.name)
    if statement.into:
        return Result(write_file(system, statement.into, partial(write_sites, rows)))
    if statement.as_json:
        return Result(sites_as_json(rows))
    return Result(table=pa.Table.from_pylist(rows, SITES.columns))


def _schedule(system: System, statement: ExplainSchedule) -> Result:
    explain = schedule_json if statement.form == "JSON" else schedule_text
    text = explain(system.supervisor, system.clock.now())
    if not statement.into:
        return Result(text)

    def write(path: Path) -> None:
        path.write_text(f"{text}\n", encoding="utf-8")

    return Result(write_file(system, statement.into, write))


Create = CreateStream | CreateTable | CreateQuery | CreateEvent | CreateRule


def _stands(system: System, statement: Create, kind: str) -> str:
    """Return a sentence where nothing is to be done, or nothing; raise where the name is taken."""
    name = statement.definition.name
    taken = system.directory.get(name)
    if taken is None:
        return ""
    if KINDS[type(taken)] != kind:
        raise NameTakenError(
            f"{name} is the name of {_one(KINDS[type(taken)])}", place=statement.place
        )
    if statement.if_not_exists:
        return f"{kind.lower()} {name} exists and is left as it is"
    if statement.or_replace and _same(taken.definition, statement.definition):
        return f"{kind.lower()} {name} stands like this already"
    if not statement.or_replace:
        raise NameTakenError(
            f"there is {_one(kind)} {name} already",
            hint="CREATE OR REPLACE replaces it, IF NOT EXISTS leaves it",
            place=statement.place,
        )
    system.directory.refuse_in_use(name)
    return ""


def _one(kind: str) -> str:
    return f"{'an' if kind == 'EVENT' else 'a'} {kind.lower()}"


def _same(one: Definition | RuleDefinition, other: Definition | RuleDefinition) -> bool:
    """Say whether two definitions mean the same, however they are written."""
    return replace(one, text="") == replace(other, text="")


def _create_stream(system: System, statement: CreateStream) -> Result:
    definition = system.types.resolved(statement.definition)
    statement = replace(statement, definition=definition)
    if message := _stands(system, statement, "STREAM"):
        return Result(message)
    check_stream(system, statement)
    _forget(system, definition.name)
    entry = system.catalog.put("STREAM", definition.name, definition.text, replace=True)
    feed = define_stream(system, definition, entry.incarnation)
    try:
        feed.open()
    except PenstockError:
        _forget(system, definition.name)
        raise
    return Result(f"stream {definition.name} created")


def _create_table(system: System, statement: CreateTable) -> Result:
    definition = statement.definition
    if message := _stands(system, statement, "TABLE"):
        return Result(message)
    reading = system.tables.read(definition)  # before the one that it replaces goes
    _forget(system, definition.name)
    entry = system.catalog.put("TABLE", definition.name, definition.text, replace=True)
    define_table(system, statement, entry.incarnation, reading)
    return Result(f"table {definition.name} created")


def _create_query(system: System, statement: CreateQuery) -> Result:
    definition = statement.definition
    if message := _stands(system, statement, "QUERY"):
        return Result(message)
    sinks.check(definition)
    refuse_sink(system, definition)
    known = bind_query(system, statement)
    check_history(system, known)
    refused = room_for(system, known)
    if refused is not None and not (definition.waits and refused.may_wait):
        raise refused.error(definition.name)
    if system.directory.get(definition.name) is not None:
        _forget(system, definition.name)
        system.cutter.reconnect()  # its state and its place are not those of the new one
    system.catalog.put("QUERY", definition.name, definition.text, replace=True)
    system.directory.add(known)
    if refused is not None:
        return Result(let_wait(system, known, refused))
    system.catalog.set_state(definition.name, QueryState.RUNNING)
    system.run_query(known)
    system.cutter.changed()
    return Result(f"query {definition.name} runs{crowded(known, system.processor.slots)}")


def _create_event(system: System, statement: CreateEvent) -> Result:
    definition = statement.definition
    if message := _stands(system, statement, "EVENT"):
        return Result(message)
    known = know_event(system, statement)
    known.root()
    if system.directory.get(definition.name) is not None:
        _forget(system, definition.name)
    system.catalog.put("EVENT", definition.name, definition.text, replace=True)
    system.directory.add(known)
    return Result(f"event {definition.name} created")


def _create_rule(system: System, statement: CreateRule) -> Result:
    message = _stands(system, statement, "RULE")
    return Result(message or create_rule(system, statement))


def _drop_type(system: System, statement: Drop) -> Result:
    if statement.if_exists and system.types.find(statement.name) is None:
        return Result(f"there is no type {statement.name}")
    wanted = statement.name.lower()
    streams = system.directory.streams()
    written = system.functions.written.values()
    users = [f.name for f in written if wanted in (f.takes.lower(), f.returns.lower())]
    users += [s.definition.name for s in streams if (s.definition.of or "").lower() == wanted]
    return Result(drop_type(system.types, system.catalog, statement.name, users))


def _drop(system: System, statement: Drop) -> Result:
    if statement.kind == "TYPE":
        return _drop_type(system, statement)
    if statement.kind == "FUNCTION":
        told = drop_function(system, statement.name, if_exists=statement.if_exists)
        return Result(told)
    known = system.directory.get(statement.name)
    kind = statement.kind.lower()
    if known is None or KINDS[type(known)] != statement.kind:
        if statement.if_exists:
            return Result(f"there is no {kind} {statement.name}")
        raise UnknownNameError(f"no {kind} {statement.name}", place=statement.place)
    system.directory.refuse_in_use(statement.name)
    _forget(system, statement.name)
    return Result(f"{kind} {statement.name} dropped")


def _forget(system: System, name: str) -> None:
    """Remove whatever has the name; nobody may read it any more."""
    match system.directory.get(name):
        case KnownStream(_, scan):
            remove_feed(system, scan)
        case KnownTable(_, incarnation, _):
            system.tables.drop(name, incarnation)
        case KnownQuery() as known:
            system.withdraw(name)
            system.result_log(name).clear()
            system.forget_late(known)
        case KnownEvent():
            system.withdraw(name)
            system.result_log(name).clear()
        case KnownRule() as rule:
            forget_rule(system, rule)
        case None:
            return
    system.directory.remove(name)
    system.catalog.remove(name)


def _punctuate(system: System, statement: Punctuate) -> Result:
    known = system.directory.stream(statement.stream)
    condition = bind_punctuation(known.scan, statement.condition, system.analyst)
    feed = system.topology.feeds[key(known.scan)]
    if not feed.punctuate(condition, system.journal, system.clock.now()):
        return Result(f"stream {statement.stream} has ended")
    return Result(f"no more tuples of {statement.stream} with {condition}")
