"""Told: by what the tuples of a bundle are told apart, and which of them a member asks for.

Tuples carry the bucket of each column that conditions ask about, and the other predicate bits that
hold for them, packed into numbers. Which *selections* (windows, and what conditions ask) they
belong to is found by an equality with the nodes of the tree over a column's buckets (`buckets.py`),
or by the predicate bits that a selection needs.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.model.own_names import INPUT, LEFT, RIGHT, own
from penstock.model.schema import quoted
from penstock.plan.operators.bundles.member import Asking, ColumnSpans, MemberPredicate
from penstock.plan.operators.bundles.spans import Span
from penstock.plan.sharing.buckets import Buckets, Numbers, buckets_of

BITS_A_COLUMN = 62  # bits of a bigint that need no care for its sign
SELECTION, WINDOWS, NODE = own("selection"), own("windows"), own("node")


@dataclass(frozen=True, slots=True)
class PredicateIndex:
    """`buckets` are those of each column, by its name; `predicates` are SQL, by bit.

    `within` is what predicate bits say of single columns, for those that say nothing else.
    """

    buckets: tuple[Buckets, ...] = ()
    predicates: tuple[str, ...] = ()
    within: Mapping[str, tuple[ColumnSpans, ...]] = field(default_factory=dict, compare=False)

    def __bool__(self) -> bool:
        """Say whether tuples are told apart at all."""
        return bool(self.buckets or self.predicates)

    @property
    def names(self) -> list[str]:
        """Return the columns that a tuple carries."""
        return [*map(bucket, range(len(self.buckets))), *map(predicate_bits, self.bit_places)]

    @property
    def bit_places(self) -> range:
        """Return the places of the numbers that predicate bits are packed into."""
        return range(-(-len(self.predicates) // BITS_A_COLUMN))

    def sql(self, relation: str) -> str:
        """Return the relation with these columns, without tuples that nobody can ask for."""
        if not self:
            return relation
        searches = [
            f"{each.search_sql()} AS {searched_at(n)}" for n, each in enumerate(self.buckets)
        ]
        known = [f"{quoted(each.column)} IS NOT NULL" for each in self.buckets if not each.optional]
        where = f" WHERE {' AND '.join(known)}" if known else ""
        inner = f"SELECT {', '.join(['*', *searches])} FROM {relation} AS {INPUT}{where}"
        columns = [
            f"{each.number_sql(searched_at(n))} AS {bucket(n)}"
            for n, each in enumerate(self.buckets)
        ]
        columns += [f"{self.bits_sql(n)} AS {predicate_bits(n)}" for n in self.bit_places]
        return f"(SELECT {', '.join(['*', *columns])} FROM ({inner}))"

    def wanted_sql(self, asked: Sequence[MemberPredicate]) -> str:
        """Return a WHERE clause that leaves out tuples of buckets that nobody asks for."""
        spans = [self.numbers(each) for each in asked]
        bounds = []
        for place, each in enumerate(self.buckets):
            numbers = [number for some in spans for number in some[place]]
            low, high = min(n[0] for n in numbers), max(n[1] for n in numbers)
            if (low, high) != each.all_numbers:
                bounds.append(f"{bucket(place)} BETWEEN {low} AND {high}")
        return f" WHERE {' AND '.join(bounds)}" if bounds else ""

    def numbers(self, asked: MemberPredicate) -> list[list[Numbers]]:
        """Return the buckets of each column that are asked for."""
        by_column = {column: spans for column, _, spans in asked.spans}
        return [
            [each.numbers(span) for span in by_column[each.column]]
            if each.column in by_column
            else [each.all_numbers]
            for each in self.buckets
        ]

    def needs(self, asked: MemberPredicate) -> list[int]:
        """Return the packed predicate bits that must hold."""
        needs = [0] * len(self.bit_places)
        for text in asked.predicates:
            place, bit = divmod(self.predicates.index(text), BITS_A_COLUMN)
            needs[place] |= 1 << bit
        return needs

    def selection_rows(
        self, selections: Iterable[tuple[int, int, MemberPredicate]]
    ) -> dict[str, list[int]]:
        """Return the columns of a table from what tuples carry to selections.

        A selection is its number, that of its windows, and what it asks: spans of the one column,
        or predicate bits.
        """
        names = [SELECTION, WINDOWS]
        names += [NODE] if self.buckets else [need(place) for place in self.bit_places]
        rows = [
            (selection, windows, *row)
            for selection, windows, asked in selections
            for row in self._rows(asked)
        ]
        columns = list(map(list, zip(*rows, strict=True))) or [[] for _ in names]
        return dict(zip(names, columns, strict=True))

    def node_rows(self, wanted: Iterable[int]) -> dict[str, list[int]]:
        """Return the columns of the table of the buckets under each wanted node."""
        nodes = [(n, number) for n in sorted(set(wanted)) for number in self.buckets[0].under(n)]
        return {NODE: [node for node, _ in nodes], bucket(0): [number for _, number in nodes]}

    def met_sql(self) -> str:
        """Return the condition under which a row, on the left, belongs to a selection."""
        met = [f"{LEFT}.{WINDOWS} = {RIGHT}.{WINDOWS}"]
        met += [f"{LEFT}.{NODE} = {RIGHT}.{NODE}"] if self.buckets else []
        for n in self.bit_places:
            needed = f"{RIGHT}.{need(n)}"
            met.append(f"{LEFT}.{predicate_bits(n)} & {needed} = {needed}")
        return " AND ".join(met)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        buckets = [[each.column, each.type, each.cuts] for each in self.buckets]
        return {"buckets": buckets, "claims": list(self.predicates)}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "PredicateIndex":
        """Return what `to_json` kept."""
        buckets = (
            Buckets(column, type_, tuple((value, side) for value, side in cuts))
            for column, type_, cuts in kept["buckets"]
        )
        return cls(tuple(buckets), tuple(kept["claims"]))

    def _rows(self, asked: MemberPredicate) -> Iterator[tuple[int, ...]]:
        """Yield a row for every node, or one for all bits; no two have a tuple in common."""
        if not self.buckets:
            yield tuple(self.needs(asked))
            return
        for numbers in self.numbers(asked)[0]:
            yield from ((node,) for node in self.buckets[0].nodes(numbers))

    def bits_sql(self, place: int, but: Collection[str] = ()) -> str:
        """Return SQL for one of the numbers that bits are packed into, without some of them."""
        return " + ".join(self.bit_terms(place, but)) or "0L"

    def bit_terms(self, place: int, but: Collection[str] = ()) -> list[str]:
        """Return SQL for each bit of one of the numbers, without those of some predicate bits."""
        bits = enumerate(self.bits_at(place))
        return [f"IF({text}, {1 << bit}L, 0L)" for bit, text in bits if text not in but]

    def bits_at(self, place: int) -> tuple[str, ...]:
        """Return the predicate bits that one of the numbers has, the lowest bit first."""
        start = place * BITS_A_COLUMN
        return self.predicates[start : start + BITS_A_COLUMN]


def predicate_index_of(members: Sequence[Asking]) -> PredicateIndex:
    """Return what tells apart what these members ask for."""
    found: dict[tuple[str, str], list[tuple[Span, ...]]] = {}
    for member in members:
        for column, type_, asked in member.asked.spans:
            found.setdefault((column, type_), []).append(asked)
    buckets = tuple(
        buckets_of(*column, itertools.chain(*spans), optional=len(spans) < len(members))
        for column, spans in sorted(found.items())
    )
    predicates = {text: m.asked.within for m in members for text in m.asked.predicates}
    within = {text: spans for text, spans in predicates.items() if spans}
    return PredicateIndex(buckets, tuple(sorted(predicates)), within)


def searched_at(place: int) -> str:
    """Return the column with the outcome of a search among a column's values."""
    return own(f"p{place}")


def bucket(place: int) -> str:
    """Return the column with the bucket of one of the columns asked about."""
    return own(f"b{place}")


def predicate_bits(place: int) -> str:
    """Return the column with some of the predicate bits."""
    return own(f"claims{place}")


def need(place: int) -> str:
    """Return the column with the predicate bits that a selection needs."""
    return own(f"need{place}")
