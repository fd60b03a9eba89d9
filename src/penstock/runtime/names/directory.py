"""The directory: every stream, table, query and event by its name."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from penstock.engine.options import near_miss
from penstock.errors import CycleError, InUseError, UnknownNameError
from penstock.model.definitions import (
    EventDefinition,
    QueryDefinition,
    StopAfter,
    StreamDefinition,
    TableDefinition,
)
from penstock.model.events import Mode
from penstock.model.grids import BaseDefinition, PerspectiveDefinition, Topology
from penstock.model.rules import RuleDefinition
from penstock.model.schema import Schema, quoted
from penstock.plan.operators import Operator, Scan, Take, key, walk
from penstock.plan.relations.sources import (
    CellSource,
    EventSource,
    Source,
    StreamSource,
    TableSource,
)
from penstock.runtime.names.slices import Grid, time_slices
from penstock.sql import WrittenEvent


@dataclass(frozen=True, slots=True)
class KnownStream:
    """A stream and the operator that reads it."""

    definition: StreamDefinition
    scan: Scan


@dataclass(frozen=True, slots=True)
class KnownTable:
    """A table and its columns."""

    definition: TableDefinition
    incarnation: int
    schema: Schema


@dataclass(frozen=True, slots=True)
class KnownQuery:
    """A query, its operators, and the names that it reads (in lower case).

    `whole` says why no sample can answer it, where it would allow that. `foreign` are the nodes
    below its root that belong to the queries that it reads.
    """

    definition: QueryDefinition
    root: Operator
    reads: frozenset[str]
    whole: str = ""
    foreign: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """An event, and the names that it reads (in lower case).

    `bind` returns its operators in a consumption mode, or raises what is wrong with it there.
    """

    definition: EventDefinition
    event: WrittenEvent
    reads: frozenset[str]
    bind: Callable[[Mode], Operator]
    bound: dict[Mode, Operator] = field(default_factory=dict, compare=False)

    def root(self, mode: Mode = Mode.RECENT) -> Operator:
        """Return its operators in a consumption mode."""
        if mode not in self.bound:
            self.bound[mode] = self.bind(mode)
        return self.bound[mode]


@dataclass(frozen=True, slots=True)
class KnownRule:
    """A rule, and the tables that its condition asks (in lower case)."""

    definition: RuleDefinition
    incarnation: int
    reads: frozenset[str]

    @property
    def needs(self) -> frozenset[str]:
        """Return every name that it cannot do without, in lower case."""
        own = self.definition
        return self.reads | own.targets | own.steered | {own.event.lower()}


@dataclass(frozen=True, slots=True)
class KnownBase:
    """A base, and the name that it reads (in lower case), where it reads no files."""

    definition: BaseDefinition
    reads: frozenset[str]

    @property
    def topology(self) -> Topology:
        """Return how its cells lie."""
        return self.definition.topology


@dataclass(frozen=True, slots=True)
class KnownPerspective:
    """A perspective, how its cells lie, and the names that it reads (in lower case)."""

    definition: PerspectiveDefinition
    topology: Topology
    reads: frozenset[str]


Known = (
    KnownStream | KnownTable | KnownQuery | KnownEvent | KnownRule | KnownBase | KnownPerspective
)
KnownGrid = KnownBase | KnownPerspective


@dataclass(slots=True)
class Directory:
    """Names are compared without case."""

    known: dict[str, Known] = field(default_factory=dict)

    def add(self, entry: Known) -> None:
        """Remember an entry under its definition's name."""
        self.known[entry.definition.name.lower()] = entry

    def remove(self, name: str) -> None:
        """Forget a name."""
        self.known.pop(name.lower(), None)

    def get(self, name: str) -> Known | None:
        """Return what has that name."""
        return self.known.get(name.lower())

    def stream(self, name: str) -> KnownStream:
        """Return the stream of that name."""
        entry = self.get(name)
        if not isinstance(entry, KnownStream):
            raise self.unknown("stream", name, self.streams())
        return entry

    def query(self, name: str) -> KnownQuery:
        """Return the query of that name."""
        entry = self.get(name)
        if not isinstance(entry, KnownQuery):
            raise self.unknown("query", name, self.queries())
        return entry

    def event(self, name: str) -> KnownEvent:
        """Return the event of that name."""
        entry = self.get(name)
        if not isinstance(entry, KnownEvent):
            raise self.unknown("event", name, self.events())
        return entry

    def rule(self, name: str) -> KnownRule:
        """Return the rule of that name."""
        entry = self.get(name)
        if not isinstance(entry, KnownRule):
            raise self.unknown("rule", name, self.rules())
        return entry

    def rules(self) -> Iterator[KnownRule]:
        """Yield the rules."""
        return (each for each in self.known.values() if isinstance(each, KnownRule))

    def streams(self) -> Iterator[KnownStream]:
        """Yield the streams."""
        return (each for each in self.known.values() if isinstance(each, KnownStream))

    def tables(self) -> Iterator[KnownTable]:
        """Yield the tables."""
        return (each for each in self.known.values() if isinstance(each, KnownTable))

    def queries(self) -> Iterator[KnownQuery]:
        """Yield the queries."""
        return (each for each in self.known.values() if isinstance(each, KnownQuery))

    def events(self) -> Iterator[KnownEvent]:
        """Yield the events."""
        return (each for each in self.known.values() if isinstance(each, KnownEvent))

    def grids(self) -> Iterator[KnownGrid]:
        """Yield the bases and perspectives."""
        return (each for each in self.known.values() if isinstance(each, KnownGrid))

    def grid(self, name: str) -> KnownGrid:
        """Return the base or perspective of that name."""
        entry = self.get(name)
        if not isinstance(entry, KnownGrid):
            raise self.unknown("base or perspective", name, self.grids())
        return entry

    def _grid_of(self, name: str) -> Grid:
        """Return the bases and perspectives below a name and itself, each behind what it reads."""
        bases: dict[str, BaseDefinition] = {}
        perspectives: dict[str, PerspectiveDefinition] = {}

        def visit(name: str) -> None:
            match self.grid(name):
                case KnownBase(definition=base):
                    bases[base.name.lower()] = base
                case KnownPerspective(definition=perspective):
                    for each in perspective.sources:
                        visit(each)
                    perspectives[perspective.name.lower()] = perspective

        visit(name)
        return tuple(bases.values()), tuple(perspectives.values())

    def unknown(self, kind: str, name: str, there: Iterator[Known]) -> UnknownNameError:
        """Return the error for a name that nothing of that kind has."""
        names = [each.definition.name for each in there]
        hint = near_miss(name, names) if names else f"there is no {kind} at all yet"
        return UnknownNameError(f"no {kind} {name}", hint=hint)

    def source(self, name: str, reader: str, stop: StopAfter | None) -> Source | None:
        """Return what `name` stands for in the FROM of the query or event `reader`."""
        if name.lower() == reader.lower():
            raise CycleError(f"{reader} would read itself")
        match self.get(name):
            case KnownStream(_, scan):
                return StreamSource(_limited(scan, reader, stop))
            case KnownTable(definition, incarnation, schema):
                return TableSource(definition.name, incarnation, schema)
            case KnownQuery(root=root):
                if reader.lower() in self.reads(name):
                    raise CycleError(f"{reader} would read itself through {name}")
                return StreamSource(_limited(root, reader, stop))
            case KnownEvent() as event:
                if reader.lower() in self.reads(name):
                    raise CycleError(f"{reader} would read itself through {name}")
                return EventSource(lambda mode: _limited(event.root(mode), reader, stop))
            case KnownBase() | KnownPerspective():
                if reader.lower() in self.reads(name):
                    raise CycleError(f"{reader} would read itself through {name}")
                return CellSource(
                    lambda window: time_slices(
                        self._grid_of(name), window, lambda read: self.source(read, reader, stop)
                    )
                )
            case KnownRule() | None:
                return None

    def reads(self, name: str) -> set[str]:
        """Return every name that a query or event reads, directly or through others."""
        found: set[str] = set()
        waiting = [name.lower()]
        while waiting:
            entry = self.get(waiting.pop())
            if isinstance(entry, KnownQuery | KnownEvent | KnownBase | KnownPerspective):
                new = entry.reads - found
                found |= new
                waiting += new
        return found

    def nodes_of(self, names: Iterable[str]) -> frozenset[str]:
        """Return the nodes of the queries among the names, and of those that events there read."""
        found: set[str] = set()
        for name in names:
            match self.get(name):
                case KnownQuery(root=root):
                    found |= {key(node) for node in walk(root)}
                case KnownEvent(reads=reads) | KnownBase(reads=reads):
                    found |= self.nodes_of(reads)
                case KnownPerspective(reads=reads):
                    found |= self.nodes_of(reads)
                case _:  # streams, tables and rules have no nodes of a query
                    pass
        return frozenset(found)

    def refuse_in_use(self, name: str) -> None:
        """Raise where a query or event reads the name, or a rule needs it."""
        queries = [q.definition.name for q in self.queries() if name.lower() in q.reads]
        events = [e.definition.name for e in self.events() if name.lower() in e.reads]
        if queries or events:
            kinds = " and ".join(["QUERY"] * bool(queries) + ["EVENT"] * bool(events))
            raise InUseError(
                f"{name} is read by {', '.join([*queries, *events])}",
                hint=f"DROP {kinds} those first",
            )
        if grids := [g.definition.name for g in self.grids() if name.lower() in g.reads]:
            raise InUseError(
                f"{name} is read by {', '.join(grids)}",
                hint="DROP PERSPECTIVE or DROP BASE those first",
            )
        if rules := [each.definition.name for each in self.rules() if name.lower() in each.needs]:
            raise InUseError(
                f"{name} is needed by rule {', '.join(rules)}", hint="DROP RULE those first"
            )


def _limited(operator: Operator, query: str, stop: StopAfter | None) -> Operator:
    return operator if stop is None else Take(operator, query, stop.tuples)


def watching(event: KnownEvent) -> KnownQuery:
    """Return the query that gives an event's detections in mode recent."""
    name = event.definition.name
    definition = QueryDefinition(name, f"SELECT * FROM {quoted(name)}")
    return KnownQuery(definition, event.root(), frozenset({name.lower()}))
