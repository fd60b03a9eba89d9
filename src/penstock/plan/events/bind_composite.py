"""Events that combine others: the expression, what it matches by, and what is shown of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from sqlglot import exp

from penstock.errors import BadEventError
from penstock.model.event_forms import TICK, constituents, unbounded
from penstock.model.event_forms import DetectedConstituent as Place
from penstock.model.events import (
    And,
    AnyOf,
    Aperiodic,
    Event,
    Mode,
    Not,
    Or,
    Periodic,
    Plus,
    Primitive,
    Seq,
    Watch,
)
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.algebra.clauses import in_order, refuse_deep
from penstock.plan.algebra.scope import place_of, plain
from penstock.plan.events.event_links import Attribute, Links, attributes, links_of, scope_of
from penstock.plan.events.event_parts import ConstituentClauses, EventPart, part_of, relabelled
from penstock.plan.events.occurrences import TIMESTAMP, as_occurrences
from penstock.plan.operators import Detect, EventTime, Filter, Operator, Project, key
from penstock.plan.operators.detect import END, START, bases_of
from penstock.plan.relations.bind_names import refuse_twins
from penstock.plan.relations.sources import LEAF, Analyst
from penstock.plan.select.bind import expand_stars
from penstock.sql import Constituent, Written, WrittenEvent, spark_sql
from penstock.sql import constituents as written_constituents

MICROSECOND = timedelta(microseconds=1)
TICKS = Schema((Column(TICK, TIMESTAMP),))
BOUNDS = (Column(START, TIMESTAMP), Column(END, TIMESTAMP))
Shown = list[tuple[str, exp.Expr]]


@dataclass(frozen=True, slots=True)
class Composite:
    """An event in the making; `read` returns the operator of a constituent."""

    event: WrittenEvent
    mode: Mode
    analyst: Analyst
    read: Callable[[Constituent], Operator]

    def bound(self) -> Operator:
        """Return the operators, or raise what is wrong."""
        sources = self._sources()
        schemas = {label: operator.schema for label, operator in sources.items()}
        links = links_of(schemas, self._where(), self.event.partition_by)
        ticks = dict.fromkeys(_tick_labels(self.event.source), TICKS)
        shown = self._shown(schemas | ticks)
        used = {attribute for _, node in shown for attribute in attributes(node)}
        used |= {attribute for each in links.across for attribute in attributes(each)}
        parts = self._parts(sources, links, used)
        watch = self._watch(parts)
        return self._over(watch, parts, schemas | ticks, shown, links.across)

    def _sources(self) -> dict[str, Operator]:
        """Return the operator of each constituent, by its label."""
        found: dict[str, Operator] = {}
        taken = {label.lower() for label in _tick_labels(self.event.source)}
        for each in written_constituents(self.event.source):
            if each.label.lower() in taken:
                raise BadEventError(
                    f"two constituents are called {each.label}",
                    hint=f"give each a name of its own: {each.name or 'event'} AS first",
                    place=each.place,
                )
            taken.add(each.label.lower())
            found[each.label] = as_occurrences(self.read(each), each.name or each.label)
        return found

    def _where(self) -> exp.Expr | None:
        both = [each for each in (self.event.mask, self.event.where) if each is not None]
        return exp.and_(*both) if both else None

    def _shown(self, schemas: Mapping[str, Schema]) -> Shown:
        """Return the columns of SELECT, over columns that say whose they are."""
        plainly = {
            label: Schema(tuple(c for c in schema if c.name not in (START, END)))
            for label, schema in schemas.items()
        }
        scope = scope_of(schemas)
        found = []
        for name, node in expand_stars(self.event.shown.expressions, scope_of(plainly)):
            refuse_deep(node, "SELECT")
            if name.lower() in (START, END):
                raise BadEventError(
                    f"{name} is a column that every event has",
                    hint="leave it out, or give it AS another name",
                    place=place_of(node),
                )
            found.append((name, scope.resolve(node)))
        refuse_twins(name for name, _ in found)
        return found

    def _parts(
        self, sources: Mapping[str, Operator], links: Links, used: set[Attribute]
    ) -> dict[str, EventPart]:
        """Return what stands for each constituent in the expression, by its label."""
        like = Watch(Primitive(""), self.mode, self.event.semantics == "point", self.event.limit)
        around = ConstituentClauses(links, used, like, self.analyst)
        spans = dict(_spans(self.event.source, None))
        return {
            label: part_of(label, operator, around, spans[label])
            for label, operator in sources.items()
        }

    def _watch(self, parts: Mapping[str, EventPart]) -> Watch:
        """Return what is to be detected, its constituents named by their places."""
        event = _expression(self.event.source, parts)
        watch = Watch(event, self.mode, self.event.semantics == "point", self.event.limit)
        if grows := unbounded(watch):
            said = grows[0]
            for part in parts.values():
                for name, shown in part.names.items():
                    said = said.replace(name, shown)
            raise BadEventError(
                f"in mode {self.mode}, {said}, and nothing bounds how many",
                hint="add WITHIN INTERVAL …, or WITH (limit => 1000)",
                place=self.event.source.place,
            )
        return watch

    def _over(
        self,
        watch: Watch,
        parts: Mapping[str, EventPart],
        schemas: Mapping[str, Schema],
        shown: Shown,
        across: list[exp.Expr],
    ) -> Operator:
        """Return the detection, with a filter and a projection where it does not show it all."""
        places = {each.label: (n, each) for n, each in enumerate(constituents(watch))}
        columns = _Columns(parts, schemas, places)
        plainly = [(n, (c.table, c.name), c) for n, c in shown if isinstance(c, exp.Column)]
        simple = not across and len(plainly) == len(shown)
        picked = plainly
        if not simple:
            nodes = [node for _, node in shown] + across
            each_column = [column for node in nodes for column in node.find_all(exp.Column)]
            found = {(c.table, c.name): c for c in each_column if c.table in schemas}
            picked = [(_inner(one), one, node) for one, node in sorted(found.items())]
        shows = tuple((name, columns.source(one, node)) for name, one, node in picked)
        types = tuple(Column(name, columns.type(one)) for name, one, _ in picked)
        primitives = {key(op): op for part in parts.values() for op in part.primitives}
        ordered = tuple(primitives[name] for name in sorted(primitives))
        detect = Detect(
            replace(watch, event=relabelled(watch.event, columns.place)),
            ordered,
            bases_of(ordered),
            shows,
            Schema((*types, *BOUNDS)),
        )
        return detect if simple else self._finished(detect, shown, across)

    def _finished(self, detect: Detect, shown: Shown, across: list[exp.Expr]) -> Operator:
        operator: Operator = detect
        if across:
            operator = Filter(detect, in_order(map(_flat, across), detect.schema))
            self.analyst.schema(operator.sql([LEAF]), {LEAF: detect.schema})
        texts = [(name, spark_sql(_flat(node))) for name, node in shown]
        columns = (*texts, (START, quoted(START)), (END, quoted(END)))
        bare = Project(operator, columns, Schema())
        schema = self.analyst.schema(bare.sql([LEAF]), {LEAF: operator.schema})
        return Project(operator, columns, schema, (EventTime(END),))


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where a detection has the attributes of its constituents."""

    parts: Mapping[str, EventPart]
    schemas: Mapping[str, Schema]
    places: Mapping[str, tuple[int, Place]]

    def place(self, label: str) -> str:
        """Return the place of a label as text, or nothing where it has none."""
        return str(self.places[label][0]) if label in self.places else ""

    def source(self, attribute: Attribute, node: exp.Expr) -> str:
        """Return an attribute as `place.column`."""
        label, column = self._inner(attribute)
        if label not in self.places:
            raise BadEventError(
                f"{attribute[0]} takes no part in what is told, so it has no {attribute[1]}",
                hint="what must not occur, and what only closes A or P, is not shown",
                place=place_of(node),
            )
        return f"{self.places[label][0]}.{column}"

    def type(self, attribute: Attribute) -> str:
        """Return an attribute's type: that of its column, or an array of it."""
        label, _ = self._inner(attribute)
        found = self.schemas[attribute[0]].find(attribute[1])
        type_ = found.type if found is not None else ""
        return f"array<{type_}>" if self.places[label][1].plural else type_

    def _inner(self, attribute: Attribute) -> Attribute:
        label, column = attribute
        return self.parts[label].inner(column) if label in self.parts else attribute


def _expression(written: Written, parts: Mapping[str, EventPart]) -> Event:
    if isinstance(written, Constituent):
        return parts[written.label].event
    in_turn = written.parts
    if written.operation in {"OR", "AND", "ANY"}:
        in_turn = tuple(sorted(in_turn, key=_names))
    below = tuple(_expression(each, parts) for each in in_turn)
    within, every = _micros(written.within), _micros(written.every) or 0
    match written.operation:
        case "OR":
            return Or(below, within)
        case "AND":
            return And(below, within)
        case "SEQ":
            return Seq(below, within)
        case "ANY":
            return AnyOf(written.count or 0, below, within) if len(below) > 1 else below[0]
        case "NOT":
            return Not(below[1], below[0], below[2], within)
        case "A" | "A*":
            return Aperiodic(below[0], below[1], below[2], written.operation == "A*", within)
        case "P" | "P*":
            star = written.operation == "P*"
            return Periodic(below[0], every, below[1], star, written.label, within)
        case "PLUS":
            return Plus(below[0], every, within)


def _names(written: Written) -> list[tuple[str, str]]:
    """Return what decides between parts that one row completes: the names of what they name."""
    return [
        (each.name.lower() or each.label.lower(), each.label)
        for each in written_constituents(written)
    ]


def _spans(written: Written, around: int | None) -> Iterator[tuple[str, int | None]]:
    """Yield the label of each constituent with the shortest WITHIN around it."""
    if isinstance(written, Constituent):
        yield written.label, around
        return
    spans = [span for span in (around, _micros(written.within)) if span is not None]
    for part in written.parts:
        yield from _spans(part, min(spans, default=None))


def _tick_labels(written: Written) -> list[str]:
    if isinstance(written, Constituent):
        return []
    below = [label for part in written.parts for label in _tick_labels(part)]
    return [*below, written.label] if written.label else below


def _inner(attribute: Attribute) -> str:
    return ".".join(attribute)


def _flat(tree: exp.Expr) -> exp.Expr:
    """Return an expression over labelled columns over those of a detection."""

    def flat(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or not node.table:
            return node
        return plain(_inner((node.table, node.name)))

    return tree.copy().transform(flat, copy=False)


def _micros(length: timedelta | None) -> int | None:
    return None if length is None else length // MICROSECOND
