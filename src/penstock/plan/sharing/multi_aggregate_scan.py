"""A scan: one pass over the tuples that makes the partials of many sections.

Spark computes what sections group by and aggregate, each expression once, and hands the columns to
Python workers, which group them by Arrow (`engine/states/sharing/multi_aggregate_scan.py`). Of a
column that conditions ask about, tuples carry the number of its bucket among the cuts of everybody;
tables that are looked up by that number tell each section's own buckets, and the predicate bits
that it lets hold.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.model.own_names import INPUT, own
from penstock.model.schema import Schema, quoted
from penstock.plan.algebra.plain import plain_partials
from penstock.plan.operators.bundles.spans import WHOLE, Span
from penstock.plan.sharing.buckets import Buckets, buckets_of
from penstock.plan.sharing.layout import Layout
from penstock.plan.sharing.predicate_index import (
    PredicateIndex,
    bucket,
    predicate_bits,
    searched_at,
)

# Sections from which on one scan with a Python worker is cheaper than passes of Spark's own.
FEWEST = 2
CAST = re.compile(r"CAST\(`(?P<column>[^`]+)` AS (?P<type>BIGINT|DOUBLE)\)")
NEEDS_NO_CAST = {"BIGINT": WHOLE, "DOUBLE": ("double",)}
Share = dict[str, Any]  # what a worker does for one section, in plain values


@dataclass(frozen=True, slots=True)
class MultiAggregateScan:
    """`shares` are those of the layouts, in their order, over the columns of the SELECT."""

    columns: tuple[tuple[str, str], ...]
    searches: tuple[tuple[str, str], ...]
    shares: tuple[Share, ...]

    def sql(self, relation: str) -> str:
        """Return the SELECT from tuples to what workers group."""
        searched = ", ".join(["*", *(f"{sql} AS {name}" for name, sql in self.searches)])
        shown = ", ".join(f"{sql} AS {name}" for name, sql in self.columns)
        return f"SELECT {shown} FROM (SELECT {searched} FROM {relation} AS {INPUT})"


def scan_places(layouts: Sequence[Layout]) -> list[int]:
    """Return the places of the layouts that a scan makes sooner than passes of their own.

    Arrow makes the partials of those with plain aggregates as Spark does. One alone is Spark's,
    unless it has predicate bits: looking these up is cheaper than evaluating them.
    """
    found = [place for place, each in enumerate(layouts) if _is_plain(each)]
    pays = len(found) >= FEWEST or any(layouts[place].predicate_index.predicates for place in found)
    return found if pays else []


def _is_plain(layout: Layout) -> bool:
    return all(plain_partials(aggregate) is not None for _, aggregate in layout.aggregates)


def multi_scan_of(layouts: Sequence[Layout], schema: Schema) -> MultiAggregateScan:
    """Return the scan that makes these layouts' partials of tuples; all of them are plain."""
    made = _Making(all_buckets(layouts), schema)
    shares = tuple(map(made.share, layouts))
    columns = tuple((name, sql) for sql, name in made.columns.items())
    return MultiAggregateScan(columns, tuple(made.searches.values()), shares)


@dataclass(slots=True)
class _Making:
    """Names each expression once."""

    buckets: dict[str, Buckets]
    schema: Schema
    columns: dict[str, str] = field(default_factory=dict)
    searches: dict[str, tuple[str, str]] = field(default_factory=dict)

    def share(self, layout: Layout) -> Share:
        predicate_index = layout.predicate_index
        return {
            "keys": [(name, self._column(sql)) for name, sql in layout.keys],
            "at": self._column(f"unix_micros({quoted(layout.time)})"),
            "pane": layout.pane,
            "buckets": [
                (bucket(n), self._number(each.column), self.buckets[each.column].table_to(each))
                for n, each in enumerate(predicate_index.buckets)
            ],
            "claims": [self._bits(predicate_index, place) for place in predicate_index.bit_places],
            "aggregates": [
                (f"{name}_{place}", each.function, each.value and self._value(each.value))
                for name, aggregate in layout.aggregates
                for place, each in enumerate(plain_partials(aggregate) or ())
            ],
        }

    def _bits(self, predicate_index: PredicateIndex, place: int) -> Share:
        """Return how the predicate bits of one number are found: by tables, and the rest by SQL."""
        predicates = predicate_index.bits_at(place)
        within = {
            text: predicate_index.within[text]
            for text in predicates
            if text in predicate_index.within
        }
        asked = sorted({column for spans in within.values() for column, _, _ in spans})
        tables = []
        for column in asked:
            by_bit = {
                1 << predicates.index(text): next((s for c, _, s in spans if c == column), None)
                for text, spans in within.items()
            }
            tables.append((self._number(column), self.buckets[column].bits_table(by_bit)))
        rest = len(within) < len(predicates)
        return {
            "name": predicate_bits(place),
            "tables": tables,
            "column": self._column(predicate_index.bits_sql(place, within)) if rest else None,
        }

    def _number(self, column: str) -> str:
        """Return the column with a tuple's bucket among everybody's."""
        every = self.buckets[column]
        if column not in self.searches:
            self.searches[column] = (searched_at(len(self.searches)), every.search_sql())
        return self._column(every.number_sql(self.searches[column][0]))

    def _value(self, sql: str) -> str:
        """Return the column with a value; Arrow sums up whole numbers as Spark casts them to."""
        if (cast := CAST.fullmatch(sql)) is not None:
            known = self.schema.find(cast["column"])
            if known is not None and known.type.lower() in NEEDS_NO_CAST[cast["type"]]:
                return self._column(quoted(cast["column"]))
        return self._column(sql)

    def _column(self, sql: str) -> str:
        return self.columns.setdefault(sql, own(f"c{len(self.columns)}"))


def all_buckets(layouts: Iterable[Layout]) -> dict[str, Buckets]:
    """Return, of each column asked about, the buckets that the cuts of all sections leave."""
    found: dict[str, tuple[str, set[Span]]] = {}
    for layout in layouts:
        for each in layout.predicate_index.buckets:
            _, spans = found.setdefault(each.column, (each.type, set()))
            spans.update((cut, None) for cut in each.cuts)
        for columns in layout.predicate_index.within.values():
            for column, type_, asked in columns:
                found.setdefault(column, (type_, set()))[1].update(asked)
    return {
        column: buckets_of(column, type_, spans, optional=True)
        for column, (type_, spans) in found.items()
    }
