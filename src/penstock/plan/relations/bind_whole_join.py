"""Joins that take all streams of a FROM at once: over ROWS, and window by window."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.model.definitions import JoinMode
from penstock.model.own_names import own, side
from penstock.model.windows import RangeWindow, RowsWindow
from penstock.plan.algebra.clauses import in_order
from penstock.plan.algebra.scope import Relation, Scope, bounds, plain
from penstock.plan.operators import HopJoin, Operator, RowsJoin
from penstock.plan.operators.joins.join_input import JoinInput, JoinStep
from penstock.plan.operators.joins.rows_join import Stay
from penstock.plan.operators.joins.window_join import KINDS
from penstock.plan.relations.bind_join import (
    INNER,
    MICROSECOND,
    JoinedStream,
    Where,
    condition_of,
    event_time,
    merged,
    names_asked,
    unknown_kind,
)
from penstock.plan.relations.meanings import meanings
from penstock.plan.relations.sources import Analyst


@dataclass(frozen=True, slots=True)
class WholeJoin:
    """A join of several streams, the names in sight, and what it took from WHERE."""

    operator: Operator
    scope: Scope
    taken: list[exp.Expr]


def takes_whole(entries: Sequence[JoinedStream]) -> bool:
    """Say whether a FROM's windows need all of its streams in one operator."""
    return any(
        isinstance(entry.window, RowsWindow)
        or (isinstance(entry.window, RangeWindow) and entry.window.slide is not None)
        for entry in entries
    )


def bind_whole(
    select: exp.Select,
    entries: Sequence[JoinedStream],
    where: Where,
    analyst: Analyst,
    mode: JoinMode,
) -> WholeJoin:
    """Return the join of all streams of a FROM."""
    joined = tuple(_inputs(select, entries))
    steps, taken = _steps(entries, joined, where)
    if any(isinstance(entry.window, RowsWindow) for entry in entries):
        made: RowsJoin | HopJoin = _rows_join(entries, joined, steps)
    else:
        made = _hop_join(entries, joined, steps, mode)
    leaves = {own(f"input{place}"): each.operator.schema for place, each in enumerate(joined)}
    analyst.schema(made.sql(list(leaves)), leaves, meanings(made))
    shown = [bounds("window")] if isinstance(made, HopJoin) else []
    for place, (entry, each) in enumerate(zip(entries, joined, strict=True)):
        if place == 0 or not steps[place - 1].is_lone:
            columns = tuple((name, plain(out)) for name, out in each.columns)
            shown = [*merged(entry.join, (*shown, Relation(entry.alias, columns)))]
    return WholeJoin(made, Scope(tuple(shown)), taken)


def _inputs(select: exp.Select, entries: Sequence[JoinedStream]) -> Iterator[JoinInput]:
    taken: set[str] = set()
    for entry in entries:
        wanted, time = names_asked(select, entry.alias), event_time(entry)
        columns: list[tuple[str, str]] = []
        for name in entry.operator.schema.names:
            if wanted is None or name.lower() in wanted or name == time.column:
                out = name
                while out.lower() in taken:
                    out = f"r_{out}"
                taken.add(out.lower())
                columns.append((name, out))
        yield JoinInput(entry.operator, time, tuple(columns))


def _steps(
    entries: Sequence[JoinedStream], joined: Sequence[JoinInput], where: Where
) -> tuple[tuple[JoinStep, ...], list[exp.Expr]]:
    """Return how each stream is joined, and the conjuncts that came from WHERE."""
    seen = [_seen(e, joined[place], side(place)) for place, e in enumerate(entries)]
    steps: list[JoinStep] = []
    taken: list[exp.Expr] = []
    for place, entry in enumerate(entries[1:], 1):
        kind = "INNER" if entry.kind == "CROSS" else entry.kind
        if kind not in KINDS:
            raise unknown_kind(kind, entry.join)
        left, right = Scope(tuple(seen[:place])), Scope((seen[place],))
        both = Scope(tuple(seen[: place + 1]))
        seen[: place + 1] = merged(entry.join, both.relations)
        gone = {id(each) for each in taken}
        known = [each.alias for each in both.relations]
        extra = [e for e in where.about(some=known, within=known) if id(e) not in gone]
        taken += extra
        on = [*condition_of(entry.join, both, left, right), *map(both.resolve, extra)]
        text = " AND ".join(f"({each})" for each in in_order(on))
        if not text and entry.kind not in INNER:
            raise BadQueryError(f"{entry.kind} JOIN needs ON")
        steps.append(JoinStep(kind, text))
    return tuple(steps), taken


def _seen(entry: JoinedStream, each: JoinInput, alias: str) -> Relation:
    columns = (
        (name, exp.column(exp.to_identifier(out, quoted=True), table=alias))
        for name, out in each.columns
    )
    return Relation(entry.alias, tuple(columns))


def _rows_join(
    entries: Sequence[JoinedStream], joined: tuple[JoinInput, ...], steps: tuple[JoinStep, ...]
) -> RowsJoin:
    if len(steps) > 1 and (kind := next((s.kind for s in steps if 1 in s.preserved), None)):
        raise BadQueryError(
            f"{kind} JOIN keeps tuples of a later stream, and a join over ROWS of more than two "
            "goes by those of the first",
            hint="put the stream whose tuples all come first, and write LEFT JOIN",
        )
    return RowsJoin(joined, tuple(map(_stay, entries)), steps)


def _stay(entry: JoinedStream) -> Stay:
    match entry.window:
        case RowsWindow(rows=rows, slide=None, partition_by=()):
            return Stay(rows=rows)
        case RangeWindow(size=size, slide=None):
            return Stay(span=size // MICROSECOND)
        case None:
            raise BadQueryError(
                f"{entry.alias} has no window, and what it is joined with has one",
                hint=f"give {entry.alias} one too, such as {entry.alias} [ROWS 100]",
            )
        case RowsWindow(slide=None):
            raise BadQueryError(
                f"a join counts the tuples of {entry.alias}, not those of each key",
                hint="[ROWS n] and [RANGE …] say who meets; the last of each key is an aggregate: "
                "FROM (SELECT k, last(x) AS x FROM s [RANGE …] GROUP BY k) AS s",
            )
        case _:
            raise BadQueryError(
                f"the window of {entry.alias} slides, and a join over ROWS does not",
                hint="leave SLIDE out; a join window by window needs RANGE … SLIDE for all",
            )


def _hop_join(
    entries: Sequence[JoinedStream],
    joined: tuple[JoinInput, ...],
    steps: tuple[JoinStep, ...],
    mode: JoinMode,
) -> HopJoin:
    first = entries[0].window
    different = next((entry for entry in entries if entry.window != first), None)
    if different is not None or not isinstance(first, RangeWindow) or first.slide is None:
        name = (different or entries[0]).alias
        raise BadQueryError(
            f"the window of {name} is another one; a join window by window needs one for all",
            hint="give every stream the same RANGE … SLIDE …, or none of them SLIDE",
        )
    if mode == "reuse" and any(step.kind != "INNER" for step in steps):
        raise BadQueryError(
            "join => 'reuse' keeps what has met for later windows, and who met nobody is another "
            "question in each",
            hint="leave it out: 'recompute' gives the same rows",
        )
    return HopJoin(joined, first.size // MICROSECOND, first.slide // MICROSECOND, steps, mode)
