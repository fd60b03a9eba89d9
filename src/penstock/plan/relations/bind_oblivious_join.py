"""Joins without windows, by keys that order their streams (`ORDERED BY`)."""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.model.definitions import Keeping
from penstock.model.own_names import own, side
from penstock.plan.algebra.clauses import conjuncts, in_order
from penstock.plan.algebra.scope import Relation, Scope, place_of, plain
from penstock.plan.operators import EventTime
from penstock.plan.operators.joins.join_input import JoinStep
from penstock.plan.operators.joins.oblivious_join import KeyedInput, ObliviousJoin
from penstock.plan.operators.joins.window_join import KINDS
from penstock.plan.operators.orders import orders_of
from penstock.plan.relations.bind_join import (
    INNER,
    JoinedStream,
    Where,
    condition_of,
    merged,
    names_asked,
    unknown_kind,
)
from penstock.plan.relations.bind_whole_join import WholeJoin
from penstock.plan.relations.meanings import meanings
from penstock.plan.relations.sources import Analyst

Keys = tuple[str, ...]  # of each input, the column by which it is joined


def oblivious_keys(entries: Sequence[JoinedStream], where: Where) -> Keys | None:
    """Return the keys by which streams without windows can be joined, or None.

    Each has to be equal to one before it, and all of them have to order their streams.
    """
    if any(entry.window is not None for entry in entries):
        return None
    orders = [orders_of(entry.operator) for entry in entries]
    if not all(orders):
        return None
    known: dict[int, str] = {}
    for place, pairs in enumerate(_equals(entries, where)):
        for (one, mine), (other, its) in pairs:
            both = ((one, mine), (other, its))
            if any(column not in orders[at] for at, column in both):
                continue
            if known.get(one, mine) == mine and known.get(other, its) == its:
                known |= dict(both)
                break
        else:
            if place:
                return None
    return tuple(known[place] for place in range(len(entries)))


Owned = tuple[int, str]  # a column of an input


def _equals(entries: Sequence[JoinedStream], where: Where) -> Iterator[list[tuple[Owned, Owned]]]:
    """Yield, for each input, the columns of it that are equal to some of those before it."""
    seen: tuple[Relation, ...] = ()
    for place, entry in enumerate(entries):
        left, right = Scope(seen), Scope((_tagged(entry, place),))
        both = Scope((*seen, *right.relations))
        within = [each.alias for each in entries[: place + 1]]
        extra = where.about(some=[entry.alias], within=within) if place else []
        on = [*condition_of(entry.join, both, left, right), *map(both.resolve, extra)]
        parts = [part for each in on for part in conjuncts(each)]
        yield [pair for part in parts if (pair := _pair(part, place)) is not None]
        seen = merged(entry.join, both.relations)


def _tagged(entry: JoinedStream, place: int) -> Relation:
    names = entry.operator.schema.names
    return Relation(entry.alias, tuple((name, _column(name, side(place))) for name in names))


def _column(name: str, table: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True), table=table)


def _pair(node: exp.Expr, place: int) -> tuple[Owned, Owned] | None:
    """Return the two columns that a condition says are equal, the earlier input's first."""
    if isinstance(node, exp.Paren):
        return _pair(node.this, place)
    if not isinstance(node, exp.EQ):
        return None
    columns = [each for each in (node.left, node.right) if isinstance(each, exp.Column)]
    sides = {side(at): at for at in range(place + 1)}
    owned = sorted((sides[c.table], c.name) for c in columns if c.table in sides)
    match owned:
        case [one, (other, _)] if one[0] < place == other:
            return owned[0], owned[1]
    return None


def bind_oblivious(
    select: exp.Select,
    entries: Sequence[JoinedStream],
    keys: Keys,
    bound: tuple[Where, Analyst, Keeping],
) -> WholeJoin:
    """Return the join of all streams of a FROM, each by its key."""
    where, analyst, keeping = bound
    _refuse_unlike(entries, keys)
    joined = tuple(_inputs(select, entries, keys))
    steps, taken = _steps(entries, joined, where)
    made = ObliviousJoin(joined, steps, keeping)
    leaves = {own(f"input{place}"): each.operator.schema for place, each in enumerate(joined)}
    analyst.schema(made.sql(list(leaves)), leaves, meanings(made))
    shown: list[Relation] = []
    for place, (entry, each) in enumerate(zip(entries, joined, strict=True)):
        if place == 0 or not steps[place - 1].is_lone:
            columns = tuple((name, plain(out)) for name, out in each.columns)
            shown = [*merged(entry.join, (*shown, Relation(entry.alias, columns)))]
    return WholeJoin(made, Scope(tuple(shown)), taken)


def _refuse_unlike(entries: Sequence[JoinedStream], keys: Keys) -> None:
    """Raise where keys are of different kinds, or a join of many is not an inner one."""
    kinds: Mapping[str, str] = {
        entry.alias: _kind(entry, key) for entry, key in zip(entries, keys, strict=True)
    }
    first, *others = kinds
    for alias in others:
        if kinds[alias] != kinds[first]:
            raise BadQueryError(
                f"{first} is ordered by a {kinds[first]}, and {alias} by a {kinds[alias]}",
                hint="streams that are joined without a window are ordered by the same kind",
            )
    for entry in entries[1:]:
        if len(entries) > 2 and entry.kind not in INNER:  # noqa: PLR2004  (two inputs: one step)
            raise BadQueryError(
                f"{entry.kind} JOIN among several streams without windows",
                hint="join two of them below: FROM (SELECT … FROM a LEFT JOIN b ON …) AS ab JOIN c",
                place=place_of(entry.join) if entry.join else None,
            )


def _kind(entry: JoinedStream, key: str) -> str:
    column = entry.operator.schema.find(key)
    known = "" if column is None else column.type
    return known if known in ("date", "timestamp") else "whole number"


def _inputs(
    select: exp.Select, entries: Sequence[JoinedStream], keys: Keys
) -> Iterator[KeyedInput]:
    taken: set[str] = set()
    for entry, key in zip(entries, keys, strict=True):
        wanted = names_asked(select, entry.alias)
        columns: list[tuple[str, str]] = []
        for name in entry.operator.schema.names:
            if wanted is None or name.lower() in wanted or name == key:
                out = name
                while out.lower() in taken:
                    out = f"r_{out}"
                taken.add(out.lower())
                columns.append((name, out))
        order = orders_of(entry.operator)[key]
        yield KeyedInput(entry.operator, EventTime(key), tuple(columns), order)


def _steps(
    entries: Sequence[JoinedStream], joined: Sequence[KeyedInput], where: Where
) -> tuple[tuple[JoinStep, ...], list[exp.Expr]]:
    """Return how each stream is joined, and the conjuncts that came from WHERE."""
    seen: tuple[Relation, ...] = ()
    steps: list[JoinStep] = []
    taken: list[exp.Expr] = []
    for place, entry in enumerate(entries):
        columns = ((name, _column(out, side(place))) for name, out in joined[place].columns)
        left, right = Scope(seen), Scope((Relation(entry.alias, tuple(columns)),))
        both = Scope((*seen, *right.relations))
        if place:
            known = [each.alias for each in entries[: place + 1]]
            extra = [
                e
                for e in where.about(some=known, within=known)
                if id(e) not in {id(t) for t in taken}
            ]
            taken += extra
            on = [*condition_of(entry.join, both, left, right), *map(both.resolve, extra)]
            steps.append(JoinStep(_kind_of(entry), " AND ".join(f"({e})" for e in in_order(on))))
        seen = merged(entry.join, both.relations)
    return tuple(steps), taken


def _kind_of(entry: JoinedStream) -> str:
    kind = "INNER" if entry.kind == "CROSS" else entry.kind
    if kind not in KINDS:
        raise unknown_kind(kind, entry.join)
    return kind
