"""What a statement needs of its caller: a role, and the streams that it reads or changes.

Names, definitions and figures are for everybody who may read; rows are for those whose token
reaches the stream. A query is reached by who reaches all that it reads, so a token that is limited
to `trades` may define queries over trades and read them, and those of others over trades as well.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from penstock.engine.allowed import Allowed
from penstock.engine.spark.spark_functions import DOORS
from penstock.errors import ForbiddenError, Place
from penstock.model.definitions import Connector, PythonFunction
from penstock.model.rules import RuleDefinition
from penstock.plan.select.once import names_in
from penstock.server.access.caller import Caller, Role
from penstock.sql import (
    AlterQuery,
    AlterRule,
    CreateBase,
    CreateEvent,
    CreateFunction,
    CreatePerspective,
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
    SetJoinMemory,
    SetTimeout,
    Show,
    Statement,
    StopQuery,
    calls_of,
    names_of,
)

INSIDE = ("push", "generator")  # sources that reach nothing outside
SYSTEM = "system."
# What a query, event or rule reads, by its name; streams and tables read nothing, None is unknown.
Inputs = Callable[[str], frozenset[str] | None]
Called = Callable[[SelectOnce | CreateQuery], frozenset[str]]  # what its functions read


@dataclass(frozen=True, slots=True)
class Need:
    """What a statement needs: a role for a reason, streams to reach, names that it makes."""

    role: Role
    why: str
    names: frozenset[str] = frozenset()
    makes: str = ""
    derived: bool = False  # what it makes is reached through its names, and need not be listed


@dataclass(frozen=True, slots=True)
class Rights:
    """Judges statements; `inputs` and `called` tell what names stand for now."""

    inputs: Inputs
    called: Called
    allowed: Callable[[], Allowed]

    def require(self, caller: Caller, statements: Iterable[Statement]) -> None:
        """Raise ForbiddenError where the caller may not carry out one of a script's statements."""
        made: dict[str, frozenset[str]] = {}
        for statement in statements:
            need = self._need(statement)
            require_role(caller, need.role, need.why, statement.place)
            if caller.streams is None:
                continue
            reach = Reach(caller.streams, self.inputs, made)
            for name in sorted(need.names):
                reach.require(name, statement.place)
            if need.makes:
                reach.require_new(need, statement.place)
                made[need.makes] = need.names

    def require_stream(self, caller: Caller, name: str, role: Role, why: str) -> None:
        """Raise ForbiddenError where the caller may not push to a stream, or follow a query."""
        require_role(caller, role, why)
        if caller.streams is not None:
            Reach(caller.streams, self.inputs).require(name.lower())

    def _need(self, statement: Statement) -> Need:
        if doors := sorted(calls_of(statement.text) & DOORS.keys()):
            return Need(Role.ADMIN, f"calling {doors[0]}: {DOORS[doors[0]]}")
        outside = self._outside(statement)
        return Need(Role.ADMIN, outside) if outside else self._inside(statement)

    def _inside(self, statement: Statement) -> Need:
        match statement:
            case SelectOnce(select=select):
                return Need(
                    Role.READ, "asking", frozenset(names_in(select)) | self.called(statement)
                )
            case Explain(subject=subject) | ExplainEstimate(subject=subject):
                return Need(Role.READ, "asking", self._subject(subject))
            case Show() | Describe() | ExplainEvent() | ExplainAll() | ExplainSchedule():
                return Need(Role.READ, "asking")
            case SetDecider() | SetTimeout() | SetJoinMemory():
                return Need(Role.ADMIN, "a setting for everybody")
            case CreateFunction(definition=PythonFunction()):
                return Need(Role.ADMIN, "a function of Python's")
            case CreateRule(definition=definition):
                condition = statement.condition
                asked = names_in(condition) if condition is not None else set[str]()
                return _makes(definition.name, asked | _acts_on(definition))
            case CreateQuery(definition=definition, select=select):
                return _makes(definition.name, names_in(select) | self.called(statement))
            case CreateBase(definition=definition) if isinstance(definition.source, str):
                return _makes(definition.name, {definition.source.lower()})
            case CreatePerspective(definition=definition):
                return _makes(definition.name, map(str.lower, definition.sources))
            case CreateBase():
                return Need(Role.WRITE, "defining", makes=statement.definition.name.lower())
            case CreateEvent(definition=definition, event=event):
                return _makes(definition.name, names_of(event))
            case CreateStream() | CreateTable() | CreateType() | CreateFunction():
                made = statement.definition.name.lower()
                return Need(Role.WRITE, "defining", makes=made)
            case Punctuate(stream=name):
                return Need(Role.WRITE, "punctuating", frozenset({name.lower()}))
            case (
                Drop(name=name)
                | AlterQuery(name=name)
                | AlterRule(name=name)
                | RetryRule(name=name)
                | StopQuery(name=name)
                | ResumeQuery(name=name)
                | OptimizeQuery(name=name)
            ):
                return Need(Role.WRITE, "changing", frozenset({name.lower()}))
            case _:
                return Need(Role.ADMIN, f"{type(statement).__name__}")

    def _subject(self, subject: str | SelectOnce | CreateQuery) -> frozenset[str]:
        """Return what an EXPLAIN reads: a sample of it may be run."""
        if isinstance(subject, str):
            return frozenset()
        return frozenset(names_in(subject.select)) | self.called(subject)

    def _outside(self, statement: Statement) -> str:
        """Return how a statement reaches outside where the operator has named no directory."""
        allowed = self.allowed()
        match statement:
            case CreateStream(definition=definition) | CreateTable(definition=definition):
                return _reads_outside(definition.source, allowed)
            case CreateBase(definition=definition) if not isinstance(definition.source, str):
                return _reads_outside(definition.source, allowed)
            case CreateQuery(definition=definition) if definition.sink is not None:
                return _writes_outside(definition.sink, allowed)
            case Show(into=str() as path) | ExplainSchedule(into=str() as path) if path:
                return "" if allowed.names_writable(path) else f"writing {path}"
            case _:
                return ""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a token that is limited to some streams reaches; `made` is what its script has made."""

    streams: frozenset[str]
    inputs: Inputs
    made: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def require(self, name: str, place: Place | None = None) -> None:
        """Raise ForbiddenError where a name is out of reach; whether it is there is not said."""
        if not self._covers(name, frozenset()):
            raise ForbiddenError(
                f"this token does not reach {name}",
                hint=f"it is limited to {', '.join(sorted(self.streams)) or 'no stream at all'}",
                place=place,
            )

    def require_new(self, need: Need, place: Place | None) -> None:
        """Raise where a name may not be given: to a stream that is not listed, or to another's."""
        is_there = self.inputs(need.makes) is not None
        if not need.derived or is_there:
            self.require(need.makes, place)

    def _covers(self, name: str, above: frozenset[str]) -> bool:
        if name in self.streams:
            return True
        inputs = self.made.get(name)
        inputs = self.inputs(name) if inputs is None else inputs
        if inputs is None and name.startswith(SYSTEM):
            return True
        if inputs is None and "." in name:  # query.late, stream.rejects, rule.dead
            return self._covers(name.rpartition(".")[0], above)
        if not inputs or name in above:
            return False
        return all(self._covers(each, above | {name}) for each in inputs)


def require_role(caller: Caller, role: Role, why: str, place: Place | None = None) -> None:
    """Raise ForbiddenError where the caller's role does not do."""
    if caller.role < role:
        raise ForbiddenError(
            f"this takes the role {role.name.lower()}, and {caller.name} has "
            f"{caller.role.name.lower()}: {why}",
            hint=f"use a token with the role {role.name.lower()}",
            place=place,
        )


def _makes(name: str, names: Iterable[str]) -> Need:
    return Need(Role.WRITE, "defining", frozenset(names), name.lower(), derived=True)


def _acts_on(definition: RuleDefinition) -> frozenset[str]:
    return definition.targets | definition.steered | {definition.event.lower()}


def _reads_outside(source: Connector, allowed: Allowed) -> str:
    path = source.option("path")
    inside = source.name in INSIDE or (isinstance(path, str) and allowed.names_readable(path))
    if not inside:
        return f"reading {path or source.name} outside of the directories named"
    taken = [path, source.option("move_to")] if source.option("after") is not None else []
    outside = [each for each in taken if each and not allowed.names_writable(str(each))]
    return f"taking files from or to {outside[0]}, outside of what is named" if outside else ""


def _writes_outside(sink: Connector, allowed: Allowed) -> str:
    path = sink.option("path")
    inside = isinstance(path, str) and allowed.names_writable(path)
    return "" if inside else f"writing to {path or sink.name} outside of the directories named"
