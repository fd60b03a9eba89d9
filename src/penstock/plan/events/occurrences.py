"""Rows as occurrences: any operator with an event time, with the columns `_start` and `_end`."""

from collections.abc import Iterable

from sqlglot import exp

from penstock.errors import BadEventError
from penstock.model.event_forms import is_instant
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.algebra.clauses import in_order
from penstock.plan.algebra.scope import plain
from penstock.plan.operators import Detect, EventTime, Filter, Operator, Project
from penstock.plan.operators.detect import END, START
from penstock.plan.relations.sources import LEAF, Analyst

TIMESTAMP = "timestamp"


def bounds_of(operator: Operator, what: str) -> tuple[str, str]:
    """Return the columns with the start and the end of what happened."""
    if not operator.times:
        raise BadEventError(
            f"{what} has no event time, and an event happens at one",
            hint="give the stream TIMESTAMP BY, or show the event time in the query",
        )
    end = operator.times[0].column
    start = operator.schema.find(START)
    if end == END and start is not None and start.type == TIMESTAMP:
        return START, END
    return end, end


def as_occurrences(operator: Operator, what: str) -> Operator:
    """Return the operator with `_start` and `_end` beside its own columns."""
    start, end = bounds_of(operator, what)
    if end == END:
        return operator
    own = [column for column in operator.schema if column.name.lower() not in (START, END)]
    below, written = operator, {name: quoted(name) for name in operator.schema.names}
    if isinstance(operator, Project):  # one projection is as good as two, and masks go below it
        below, written = operator.input, dict(operator.columns)
    columns = [(column.name, written[column.name]) for column in own]
    schema = (*own, Column(START, TIMESTAMP), Column(END, TIMESTAMP))
    bounds = ((START, written[start]), (END, written[end]))
    times = (EventTime(END, operator.times[0].offset),)
    return Project(below, (*columns, *bounds), Schema(schema), times)


def lasts(operator: Operator) -> bool:
    """Say whether occurrences may start before they end."""
    match operator:
        case Filter():
            return lasts(operator.input)
        case Project():
            shown = dict(operator.columns)
            if shown.get(START) == shown.get(END):
                return False
            is_plain = shown.get(START) == quoted(START) and shown.get(END) == quoted(END)
            return lasts(operator.input) if is_plain else True
        case Detect():
            return not is_instant(operator.watch.event)
        case _:
            return True


def masked(operator: Operator, conditions: Iterable[exp.Expr], analyst: Analyst) -> Operator:
    """Return the occurrences for which all conditions hold, these as far down as they can go.

    Below the columns of a SELECT that only picks some, all masks of a stream are asked at once.
    """
    asked = list(conditions)
    if not asked:
        return operator
    if isinstance(operator, Project) and (below := _below(operator, asked)) is not None:
        kept: Operator = Filter(operator.input, in_order(below, operator.input.schema))
        analyst.schema(kept.sql([LEAF]), {LEAF: kept.schema})
        return Project(kept, operator.columns, operator.schema, operator.times)
    kept = Filter(operator, in_order(asked, operator.schema))
    analyst.schema(kept.sql([LEAF]), {LEAF: operator.schema})
    return kept


def _below(project: Project, conditions: Iterable[exp.Expr]) -> list[exp.Expr] | None:
    """Return conditions over a projection's output over its input, where that only picks."""
    names = {quoted(name): name for name in project.input.schema.names}
    picked = {name.lower(): names[sql] for name, sql in project.columns if sql in names}

    def moved(node: exp.Expr) -> exp.Expr:
        return plain(picked[node.name.lower()]) if _is_plain(node) else node

    found = []
    for each in conditions:
        if not all(c.name.lower() in picked for c in each.find_all(exp.Column)):
            return None
        found.append(each.copy().transform(moved, copy=False))
    return found


def _is_plain(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and not node.table
