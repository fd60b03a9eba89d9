"""The layout of a bundle's partials: what is kept of the tuples, and for which panes.

tuples --pane_sql--> partials by key, what tells tuples apart, and pane
--close_sql--> partials by selection, key and window, from which the post-aggregations make rows
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.model.own_names import INPUT, LEFT, RIGHT, own
from penstock.model.schema import quoted
from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.operators.bundles.member import Member
from penstock.plan.operators.windows.window_aggregate import PANE
from penstock.plan.operators.windows.window_assigner import WindowAssigner
from penstock.plan.sharing.predicate_index import (
    NODE,
    SELECTION,
    WINDOWS,
    PredicateIndex,
    bucket,
    predicate_index_of,
)

NUMBER = own("number")
SIZE, SLIDE, FIRST, LAST = own("size"), own("slide"), own("first"), own("last")
FROM, TO = own("from"), own("to")


@dataclass(frozen=True, slots=True)
class Closing:
    """Windows of one kind to close: the first and the last number."""

    assigner: WindowAssigner
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Layout:
    """`keys` are (name, SQL); `aggregates` are named the same in every layout."""

    time: str
    keys: tuple[tuple[str, str], ...]
    predicate_index: PredicateIndex
    aggregates: tuple[tuple[str, Aggregate], ...]
    pane: int

    @property
    def untold(self) -> "Layout":
        """Return the layout of partials that one member alone made."""
        return replace(self, predicate_index=PredicateIndex())

    @property
    def columns(self) -> list[str]:
        """Return the columns of partials, in their order."""
        named = [name for name, each in self.aggregates for name, _ in each.partial_sql(name)]
        return [*(name for name, _ in self.keys), *self.predicate_index.names, PANE, *named]

    def micros(self) -> str:
        """Return the place of a tuple on the axis of windows."""
        return f"unix_micros({quoted(self.time)})"

    def pane_sql(self, relation: str) -> str:
        """Return the SELECT from the base's tuples to partials."""
        micros = self.micros()
        columns = [f"{sql} AS {quoted(name)}" for name, sql in self.keys]
        columns += self.predicate_index.names
        columns.append(f"{micros} - pmod({micros}, {self.pane}L) AS {PANE}")
        groups = ", ".join(str(place) for place in range(1, len(columns) + 1))
        columns += [
            f"{sql} AS {part}"
            for name, each in self.aggregates
            for part, sql in each.partial_sql(name)
        ]
        tuples = f"{self.predicate_index.sql(relation)} AS {INPUT}"
        return f"SELECT {', '.join(columns)} FROM {tuples} GROUP BY {groups}"

    def compact_sql(self, parts: str) -> str:
        """Return the SELECT that combines partials that nothing tells apart."""
        return self._combined_sql(parts, [*self._key_names(), *self.predicate_index.names, PANE])

    def combine_sql(self, closed: str) -> str:
        """Return the SELECT that combines what `close_sql` gave of several sets of partials."""
        return self._combined_sql(closed, [SELECTION, *self._key_names(), NUMBER])

    def close_sql(
        self, parts: str, closing: Sequence[Closing], selections: str = "", nodes: str = ""
    ) -> str:
        """Return the SELECT of the partials of each selection, key and window.

        `selections` and `nodes` have the rows that `told` makes of the members; where it tells
        nothing apart, a selection is a set of windows, by its place in `closing`.
        """
        spread = self._spread_sql(parts, closing)
        windows = f"({self._combined_sql(spread, self._spread_names())})"
        if not self.predicate_index:
            return f"SELECT {WINDOWS} AS {SELECTION}, * EXCEPT ({WINDOWS}) FROM {windows}"
        if self.predicate_index.buckets:
            windows = self._by_node_sql(windows, nodes)
        keys = [f"{LEFT}.{name}" for name in self._key_names()]
        names = [SELECTION, *keys, NUMBER]
        columns = ", ".join([*names, *self.combined()])
        joined = (
            f"{windows} AS {LEFT} JOIN {selections} AS {RIGHT} ON {self.predicate_index.met_sql()}"
        )
        return f"SELECT {columns} FROM {joined} GROUP BY {', '.join(names)}"

    def _by_node_sql(self, windows: str, nodes: str) -> str:
        """Return the partials of each node: many selections are made of few of them."""
        names = [WINDOWS, NODE, *self._key_names(), NUMBER]
        joined = f"{windows} AS {LEFT} JOIN {nodes} AS {RIGHT} USING ({bucket(0)})"
        return f"({self._combined_sql(joined, names)})"

    def _spread_sql(self, parts: str, closing: Sequence[Closing]) -> str:
        """Return the SELECT that gives partials once for each window that they belong to."""
        rows = ", ".join(
            f"struct({place}, {c.assigner.end}L, {c.assigner.lower}L, {c.first}L, {c.last}L, "
            f"{c.assigner.start_of(c.first)}L, {c.assigner.end_of(c.last)}L)"
            for place, c in enumerate(closing)
        )
        fields = ", ".join((WINDOWS, SIZE, SLIDE, FIRST, LAST, FROM, TO))
        low = f"greatest({FIRST}, {_floor(f'{PANE} - {SIZE}', SLIDE)} + 1)"
        high = f"least({LAST}, {_floor(PANE, SLIDE)})"
        numbers = f"explode(CASE WHEN {low} <= {high} THEN sequence({low}, {high}, 1L) END)"
        return (
            f"(SELECT *, {numbers} AS {NUMBER} FROM {parts} "
            f"LATERAL VIEW inline(array({rows})) {RIGHT} AS {fields} "
            f"WHERE {PANE} >= {FROM} AND {PANE} < {TO})"
        )

    def _spread_names(self) -> list[str]:
        return [WINDOWS, *self._key_names(), *self.predicate_index.names, NUMBER]

    def _combined_sql(self, relation: str, names: Sequence[str]) -> str:
        columns = ", ".join([*names, *self.combined()])
        return f"SELECT {columns} FROM {relation} GROUP BY {', '.join(names)}"

    def combined(self) -> list[str]:
        """Return the columns of partials that are combined."""
        return [
            f"{sql} AS {part}"
            for name, each in self.aggregates
            for part, sql in each.combine_sql(name)
        ]

    def _key_names(self) -> list[str]:
        return [quoted(name) for name, _ in self.keys]


def layout_of(members: Sequence[Member]) -> Layout:
    """Return the layout in which all of these members, of one bundle, find what they ask for."""
    first = members[0].aggregate
    named = {aggregate_name(a): a for m in members for _, a in m.aggregate.aggregates}
    pane = math.gcd(*(member.aggregate.assigner.pane for member in members))
    aggregates = tuple((name, named[name]) for name in sorted(named))
    return Layout(first.time.column, first.keys, predicate_index_of(members), aggregates, pane)


def aggregate_name(aggregate: Aggregate) -> str:
    """Return the name of an aggregate's partials."""
    text = "\x00".join((aggregate.text, *aggregate.partials))
    return own(f"a{hashlib.sha256(text.encode()).hexdigest()[:12]}")


def _floor(sql: str, by: str) -> str:
    return f"(({sql}) - pmod({sql}, {by})) div {by}"
