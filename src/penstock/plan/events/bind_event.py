"""From CREATE EVENT to operators: a primitive event is a filter and a projection, others detect."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadEventError, UnknownNameError
from penstock.model.events import Mode
from penstock.model.grids import NO_WINDOW
from penstock.plan.events.bind_composite import Composite
from penstock.plan.events.bind_condition import refuse_value
from penstock.plan.events.occurrences import bounds_of
from penstock.plan.operators import EventTime, Operator, Project
from penstock.plan.operators.detect import END, START
from penstock.plan.relations.sources import (
    Analyst,
    CellSource,
    EventSource,
    Lookup,
    Source,
    StreamSource,
    TableSource,
    with_name,
)
from penstock.plan.select.bind import Binder
from penstock.sql import Constituent, WrittenEvent

LISTS = "SHOW STREAMS, SHOW QUERIES and SHOW EVENTS list what there is"
Read = Callable[[Constituent], Operator]


@dataclass(frozen=True, slots=True)
class EventBinder:
    """Binds events against what `lookup` knows; `analyst` tells types."""

    lookup: Lookup
    analyst: Analyst

    def bind(self, event: WrittenEvent, mode: Mode) -> Operator:
        """Return the operators of an event that is detected in a mode, or raise what is wrong."""

        def read(constituent: Constituent) -> Operator:
            return self._operator(constituent, mode)

        if isinstance(event.source, Constituent):
            return self._primitive(event, event.source, read)
        return Composite(event, mode, self.analyst, read).bound()

    def _operator(self, constituent: Constituent, mode: Mode) -> Operator:
        """Return the operator whose rows are a constituent's occurrences."""
        if constituent.select is not None:
            return Binder(_in_mode(self.lookup, mode), self.analyst).bind(constituent.select)
        match self.lookup(constituent.name):
            case EventSource(read):
                return read(mode)
            case StreamSource(operator):
                return operator
            case CellSource(read):
                return read(NO_WINDOW)
            case TableSource():
                raise BadEventError(
                    f"{constituent.name} is a table, and nothing happens in it",
                    hint="an event is made of events, queries and streams",
                    place=constituent.place,
                )
            case None:
                raise UnknownNameError(
                    f"no event, query or stream {constituent.name}",
                    hint=LISTS,
                    place=constituent.place,
                )

    def _primitive(self, event: WrittenEvent, source: Constituent, read: Read) -> Operator:
        operator = read(source)
        if event.limit is not None or event.semantics != "interval":
            raise BadEventError("only an event that combines others has options")
        start, end = bounds_of(operator, source.name or source.label)
        select = event.shown.copy()
        for star in select.find_all(exp.Star):
            if end == END and not star.args.get("except_"):
                star.set("except_", [exp.column(START), exp.column(END)])
        _refuse_names(select)
        select.select(_named(start, START), _named(end, END), copy=False)
        table = exp.Table(this=exp.to_identifier(source.label, quoted=True))
        select.set("from_", exp.From(this=table))
        for condition in (event.mask, event.where):
            if condition is not None:
                select.where(condition.copy(), copy=False)
        if event.mask is not None:
            refuse_value(event.mask, operator, source.label, self.analyst)
        known = with_name(self.lookup, source.label, StreamSource(operator))
        return _timed(Binder(known, self.analyst).bind(select), operator.times[0])


def _timed(root: Operator, time: EventTime) -> Operator:
    """Return the occurrences with their end as what orders them."""
    if not isinstance(root, Project):
        return root
    others = tuple(each for each in root.times if each.column != END)
    return Project(root.input, root.columns, root.schema, (EventTime(END, time.offset), *others))


def _named(column: str, name: str) -> exp.Expr:
    return exp.alias_(exp.column(exp.to_identifier(column, quoted=True)), name, quoted=True)


def _refuse_names(select: exp.Select) -> None:
    for each in select.expressions:
        if each.output_name.lower() in (START, END):
            raise BadEventError(
                f"{each.output_name} is a column that every event has",
                hint="leave it out, or give it AS another name",
            )


def _in_mode(lookup: Lookup, mode: Mode) -> Lookup:
    """Return a lookup to which events are streams."""

    def found(name: str) -> Source | None:
        source = lookup(name)
        return StreamSource(source.read(mode)) if isinstance(source, EventSource) else source

    return found
