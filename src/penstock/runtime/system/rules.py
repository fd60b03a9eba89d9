"""Rules as statements make and change them; while quiesced."""

from typing import TYPE_CHECKING

from penstock.engine import actions
from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.table_files import check_addable
from penstock.errors import BadQueryError, UnknownNameError
from penstock.events.cascades import DEEPEST, Reach, loop_of
from penstock.model.definitions import QueryState, TableDefinition
from penstock.model.events import Mode
from penstock.model.rules import Action, Alter, Call, Insert, RuleDefinition, Steer
from penstock.model.rules import Reach as Outside
from penstock.plan.events.bind_rule import BoundRule, RuleBinder, Target
from penstock.plan.operators import Operator, key
from penstock.plan.relations.sources import EventSource, StreamSource
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.names.directory import (
    Directory,
    KnownEvent,
    KnownRule,
    KnownStream,
    KnownTable,
)
from penstock.runtime.system.held import refuse_unkept
from penstock.runtime.topology.restoration import begun_at, restore_occasions
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_rule import LiveOccasions, LiveRule, reader_of
from penstock.sql import CreateRule

if TYPE_CHECKING:
    from penstock.runtime.system.system import System


def event_of(system: "System", definition: RuleDefinition) -> Operator:
    """Return the operator whose tuples a rule is asked about."""
    source = system.directory.source(definition.event, "", None)
    if isinstance(source, StreamSource):
        return source.operator
    if isinstance(source, EventSource):
        return source.read(definition.context or Mode.RECENT)
    if source is None:
        there = iter(system.directory.known.values())
        raise system.directory.unknown("event, query or stream", definition.event, there)
    raise BadQueryError(
        f"{definition.event} is a table, and nothing happens in a table",
        hint="a rule stands ON an event, a query or a stream",
    )


def bind_rule(system: "System", statement: CreateRule) -> tuple[Operator, BoundRule]:
    """Return a rule's event and its operators, or raise what is wrong with it."""
    definition = statement.definition
    event = event_of(system, definition)
    for action in definition.actions:
        _check(system, action)
    binder = RuleBinder(
        event,
        definition,
        lambda name: system.directory.source(name, "", None),
        system.analyst,
    )
    targets = [_target(system, action) for action in definition.actions]
    bound = binder.bind(statement.condition, statement.values, targets)
    for each in bound.held:
        if isinstance(known := system.directory.get(each.name), KnownEvent):
            refuse_unkept(system, known)
    return event, bound


def _check(system: "System", action: Action) -> None:
    match action:
        case Outside(connector):
            actions.build(connector).check(system.allowed())
        case Alter(name, terms):
            terms.applied(system.directory.query(name).definition.goals)
        case Steer("START" | "STOP", name):
            system.directory.query(name)
        case Steer(_, name):
            system.directory.rule(name)
        case Call(name) if name not in system.calls.known:
            raise UnknownNameError(
                f"no action {name} is registered",
                hint="register it first: ps.action('name', function), or connect(actions={…})",
            )
        case _:
            return


def _target(system: "System", action: Action) -> Target | None:
    """Return the stream or table that an action adds to."""
    if not isinstance(action, Insert):
        return None
    known = system.directory.get(action.target)
    if isinstance(known, KnownTable) and action.verb == "INSERT":
        check_addable(known.definition)
        return Target(known.definition.name, known.schema)
    if not isinstance(known, KnownStream):
        hint = "rules add to tables, and to streams FROM push()"
        if known is None:
            raise UnknownNameError(f"no stream {action.target}", hint=hint)
        raise BadQueryError(f"nothing can be added to {action.target}", hint=hint)
    if known.definition.source.name != "push":
        raise BadQueryError(
            f"stream {action.target} has a source of its own", hint="define it FROM push()"
        )
    stream = known.definition
    return Target(stream.name, stream.schema, stream.time_column)


def create_rule(system: "System", statement: CreateRule) -> str:
    """Let a new rule stand from the next trains of its event on; return what to say."""
    definition = statement.definition
    event, bound = bind_rule(system, statement)
    if isinstance(old := system.directory.get(definition.name), KnownRule):
        forget_rule(system, old)
    entry = system.catalog.put("RULE", definition.name, definition.text, replace=True)
    system.catalog.set_state(definition.name, QueryState.RUNNING)
    known = KnownRule(definition, entry.incarnation, bound.reads)
    system.directory.add(known)
    stand(system, LiveRule(definition, bound, entry.incarnation), event)
    return f"rule {definition.name} stands{_warning(system, definition.name)}"


def stand(system: "System", rule: LiveRule, event: Operator) -> None:
    """Put a rule into the topology, to begin behind the trains that its event has given by now."""
    topology, definition = system.topology, rule.definition
    reader = reader_of(definition.coupling, event)
    if reader not in topology.occasions:
        system.firings.forget_place(reader)
    each = occasions_of(system, definition, event)
    each.rules[rule.name.lower()] = rule
    system.cutter.changed()
    buffer = topology.buffers.get(each.input)
    rule.since = buffer.written if buffer is not None else 0


def occasions_of(system: "System", definition: RuleDefinition, event: Operator) -> LiveOccasions:
    """Return the reader of an event for the rules of a coupling, made where there is none."""
    reader = reader_of(definition.coupling, event)
    mode = f" in {definition.context}" if definition.context else ""
    title = f"rules on {definition.event.lower()}{mode}"
    made = LiveOccasions(definition.coupling, event, title)
    return system.topology.occasions.setdefault(reader, made)


def bring_back(
    system: "System", statement: CreateRule, incarnation: int, manifest: Manifest
) -> list[tuple[LiveRule, Operator]]:
    """Let a rule stand as the checkpoint saw it; return it where that does not have it."""
    definition = statement.definition
    event, bound = bind_rule(system, statement)
    entry = system.catalog.get(definition.name)
    state = entry.state if entry is not None else None
    system.directory.add(KnownRule(definition, incarnation, bound.reads))
    rule = LiveRule(definition, bound, incarnation, enabled=state is not QueryState.STOPPED)
    if state is QueryState.FAILED and entry is not None:
        rule.cause = entry.cause
    begun = begun_at(manifest, reader_of(definition.coupling, event), rule.key)
    if begun is None:
        return [(rule, event)]
    rule.since = begun
    occasions_of(system, definition, event).rules[rule.name.lower()] = rule
    return []


def restore(system: "System", manifest: Manifest) -> None:
    """Put the readers for rules back, and settle what was about to be inserted at the end."""
    for each in system.topology.occasions.values():
        restore_occasions(each, manifest, system.journal)
    sources = {feed.key: feed.interface for feed in system.topology.feeds.values()}
    for intent in system.firings.intents():
        source = sources.get(intent.stream)
        if isinstance(source, Push) and not source.is_open:
            continue  # its log is damaged: nobody can tell before it is mended
        happened = isinstance(source, Push) and source.rows > intent.position
        system.firings.settle(intent, happened=happened)
    for rule in system.firings.rules():
        name, _, incarnation = rule.rpartition(".")
        entry = system.catalog.get(name)
        if entry is None or str(entry.incarnation) != incarnation:
            system.firings.forget(rule)


def find(directory: Directory, topology: Topology, name: str) -> tuple[LiveOccasions, LiveRule]:
    """Return a rule with the reader that it looks through."""
    known = directory.rule(name)
    for each in list(topology.occasions.values()):  # who shows it does so while things change
        rule = each.rules.get(name.lower())
        if rule is not None and rule.incarnation == known.incarnation:
            return each, rule
    raise UnknownNameError(f"rule {name} could not be brought back")


def forget_rule(system: "System", known: KnownRule) -> None:
    """Take a rule away, with what it has not done."""
    each, rule = find(system.directory, system.topology, known.definition.name)
    del each.rules[rule.name.lower()]
    if not each.rules:
        del system.topology.occasions[each.reader]
        system.topology.gone.add(each.reader)
    system.firings.forget(rule.key)
    system.cutter.changed()


def set_enabled(system: "System", name: str, enabled: bool) -> str:
    """Let a rule look at its event again, from the next trains on, or no more."""
    each, rule = find(system.directory, system.topology, name)
    if enabled:
        system.topology.mend(each.event)
    if enabled and (not rule.enabled or rule.cause):
        buffer = system.topology.buffers.get(each.input)
        rule.since = buffer.written if buffer is not None else 0
    rule.enabled, rule.cause = enabled, ""
    state = QueryState.RUNNING if enabled else QueryState.STOPPED
    system.catalog.set_state(rule.name, state, "")
    return f"rule {rule.name} is {'enabled' if enabled else 'disabled'}"


def retry_rule(system: "System", name: str) -> str:
    """Let a rule's dead letters be tried again."""
    _, rule = find(system.directory, system.topology, name)
    count = system.firings.retry(rule.key)
    system.lanes.look()
    return f"{count:,} dead letters of rule {rule.name} are tried again"


def _warning(system: "System", name: str) -> str:
    """Return a warning where a rule can set itself off."""
    adds = system.directory.rule(name).definition.targets
    way = loop_of(name.lower(), reaches(system)) if adds else []
    if not way:
        return ""
    return (
        f"; beware, it can set itself off: {' -> '.join(way)}. After {DEEPEST} steps what it would "
        "insert goes to its dead letters"
    )


def reaches(system: "System") -> dict[str, Reach]:
    """Return what every rule looks at, and what it adds to."""
    directory = system.directory
    return {
        each.definition.name.lower(): Reach(
            {each.definition.event.lower(), *directory.reads(each.definition.event)},
            {name for name in each.definition.targets if table_of(system, name) is None},
        )
        for each in directory.rules()
    }


def table_of(system: "System", name: str) -> TableDefinition | None:
    """Return the table of that name that rules add to, or None where it is none."""
    known = system.directory.get(name)
    return known.definition if isinstance(known, KnownTable) else None


def stream_of(system: "System", name: str) -> tuple[str, Push]:
    """Return the key and the source of a stream that rules add to."""
    known = system.directory.stream(name)
    return key(known.scan), system.push_source(name)
