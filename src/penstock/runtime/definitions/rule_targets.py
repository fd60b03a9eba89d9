"""Rule targets: what a rule stands on and acts on, checked and bound when it is defined."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.engine import actions
from penstock.engine.actions.call import Callables
from penstock.engine.allowed import Allowed
from penstock.engine.table_files import check_addable
from penstock.errors import BadQueryError, UnknownNameError
from penstock.events.cascades import DEEPEST, RuleReach, loop_of
from penstock.model.definitions import TableDefinition
from penstock.model.events import Mode
from penstock.model.grids import NO_WINDOW
from penstock.model.rules import Action, Alter, CallAction, Insert, RuleDefinition, Steer
from penstock.model.rules import OutsideAction as Outside
from penstock.plan.events.bind_rule import BoundRule, RuleBinder, Target
from penstock.plan.operators import Operator
from penstock.plan.relations.sources import CellSource, EventSource, StreamSource
from penstock.runtime.definitions.definition_binder import DefinitionBinder
from penstock.runtime.names.directory import Directory, KnownEvent, KnownStream, KnownTable
from penstock.runtime.queries.contents import Contents
from penstock.sql import CreateRule


@dataclass(frozen=True, slots=True)
class RuleTargets:
    """Binds rules over what is defined; `calls` are the functions that they may CALL."""

    binder: DefinitionBinder
    contents: Contents
    allowed: Callable[[], Allowed]
    calls: Callables

    def bound(self, statement: CreateRule) -> tuple[Operator, BoundRule]:
        """Return a rule's event and its operators, or raise what is wrong with it."""
        definition, directory = statement.definition, self.binder.directory
        event = self._event(definition)
        for action in definition.actions:
            self._check(action)
        binder = RuleBinder(event, definition, self.binder.source, self.binder.analyst)
        targets = [_target(directory, action) for action in definition.actions]
        bound = binder.bind(statement.condition, statement.values, targets)
        for each in bound.held:
            if isinstance(known := directory.get(each.name), KnownEvent):
                self.contents.refuse_unkept(known)
        return event, bound

    def _event(self, definition: RuleDefinition) -> Operator:
        """Return the operator whose tuples a rule is asked about."""
        source, directory = self.binder.source(definition.event), self.binder.directory
        if isinstance(source, StreamSource):
            return source.operator
        if isinstance(source, EventSource):
            return source.read(definition.context or Mode.RECENT)
        if isinstance(source, CellSource):
            return source.read(NO_WINDOW)
        if source is None:
            there = iter(directory.known.values())
            raise directory.unknown("event, query or stream", definition.event, there)
        raise BadQueryError(
            f"{definition.event} is a table, and nothing happens in a table",
            hint="a rule stands ON an event, a query or a stream",
        )

    def _check(self, action: Action) -> None:
        directory = self.binder.directory
        match action:
            case Outside(connector):
                actions.build(connector).check(self.allowed())
            case Alter(name, terms):
                terms.applied(directory.query(name).definition.goals)
            case Steer("START" | "STOP", name):
                directory.query(name)
            case Steer(_, name):
                directory.rule(name)
            case CallAction(name) if name not in self.calls.known:
                raise UnknownNameError(
                    f"no action {name} is registered",
                    hint="register it first: ps.action('name', function), or connect(actions={…})",
                )
            case _:
                return


def _target(directory: Directory, action: Action) -> Target | None:
    """Return the stream or table that an action adds to."""
    if not isinstance(action, Insert):
        return None
    known = directory.get(action.target)
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
    stream = known.definition.as_read
    return Target(stream.name, stream.schema, stream.time_column)


def loop_warning(directory: Directory, name: str) -> str:
    """Return a warning where a rule can set itself off."""
    adds = directory.rule(name).definition.targets
    way = loop_of(name.lower(), reaches(directory)) if adds else []
    if not way:
        return ""
    return (
        f"; beware, it can set itself off: {' -> '.join(way)}. After {DEEPEST} steps what it would "
        "insert goes to its dead letters"
    )


def reaches(directory: Directory) -> dict[str, RuleReach]:
    """Return what every rule looks at, and what it adds to."""
    return {
        each.definition.name.lower(): RuleReach(
            {each.definition.event.lower(), *directory.reads(each.definition.event)},
            {name for name in each.definition.targets if table_of(directory, name) is None},
        )
        for each in directory.rules()
    }


def table_of(directory: Directory, name: str) -> TableDefinition | None:
    """Return the table of that name that rules add to, or None where it is none."""
    known = directory.get(name)
    return known.definition if isinstance(known, KnownTable) else None
