"""Passes: partials of many sections, of one bundle or of several, made of the same tuples."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import pyarrow as pa

from penstock.engine.states.sharing.multi_aggregate_scan import (
    SCHEMA,
    partials_of,
    scan_batches,
    tables_of,
)
from penstock.engine.states.state import Run
from penstock.errors import PenstockError
from penstock.model.schema import Schema
from penstock.plan.operators.bundles.member import Section
from penstock.plan.sharing.layout import Layout
from penstock.plan.sharing.multi_aggregate_scan import (
    MultiAggregateScan,
    multi_scan_of,
    scan_places,
)
from penstock.plan.sharing.predicate_index import PredicateIndex


@dataclass(slots=True)
class Pass:
    """Makes each of `layouts`, of which `homes` has the one that holds what each wants.

    `scan` makes those at its places together, the rest are passes of Spark's own.
    """

    wanted: Sequence[Layout]
    layouts: Sequence[Layout]
    homes: Sequence[int]
    places: Sequence[int]
    multi_scan: MultiAggregateScan = field(repr=False)

    @classmethod
    def over(cls, wanted: Sequence[tuple[Section, Layout]], schema: Schema) -> Self:
        """Return the pass over tuples with these columns; sections that are equal are made once.

        Those with other panes are not: a run goes alone when it is done again, and doubles added
        pane by pane would not be the same.
        """
        found: dict[tuple[Section, PredicateIndex, int], list[Layout]] = {}
        names = [(section, each.predicate_index, each.pane) for section, each in wanted]
        for name, (_, layout) in zip(names, wanted, strict=True):
            found.setdefault(name, []).append(layout)
        layouts = [_one_of(each) for each in found.values()]
        order = {name: place for place, name in enumerate(found)}
        places = scan_places(layouts)
        multi_scan = multi_scan_of([layouts[place] for place in places], schema)
        return cls(
            [each for _, each in wanted], layouts, [order[n] for n in names], places, multi_scan
        )

    def scanned(self, run: Run) -> dict[int, pa.Table]:
        """Return the partials that a scan makes, by the layout's place; Spark makes the others.

        Where a scan fails there is none from then on: sections' own passes find out whether it
        is a member's fault, or that of a type that does not go through workers.
        """
        if not self.places:
            return {}
        try:
            tables = self._tables(run)
        except PenstockError:
            self.places = ()
            return {}
        return {
            place: table
            for place, table in zip(self.places, tables, strict=True)
            if table is not None
        }

    def _tables(self, run: Run) -> list[pa.Table | None]:
        """Return the partials of each layout of the scan: by Arrow side by side, or by workers."""
        sql, shares = self.multi_scan.sql(f"({run.input_sql()})"), self.multi_scan.shares
        table = run.processor.in_driver(run.plain_leaves(), sql)
        if table is None:
            work = scan_batches(shares), SCHEMA
            answer = run.processor.mapped(run.plain_leaves(), sql, work)
            return tables_of(answer, len(self.places))
        if not table.num_rows:
            return [table.select([]) for _ in shares]
        works = [functools.partial(partials_of, table, share) for share in shares]
        return run.processor.side_by_side(works)

    def made(self, run: Run) -> list[pa.Table]:
        """Return what each wants."""
        found = self.scanned(run)
        rest = [place for place in range(len(self.layouts)) if place not in found]
        works = [functools.partial(self._selected, replace(run, lane=each), each) for each in rest]
        found |= dict(zip(rest, run.processor.side_by_side(works), strict=True))
        return [
            found[home].select(layout.columns) if found[home].num_rows else found[home]
            for home, layout in zip(self.homes, self.wanted, strict=True)
        ]

    def _selected(self, run: Run, place: int) -> pa.Table:
        layout = self.layouts[place]
        sql = layout.pane_sql(f"({run.input_sql()})")
        return run.select(sql, run.plain_leaves(), wide=bool(layout.predicate_index.predicates))


def _one_of(layouts: Sequence[Layout]) -> Layout:
    """Return the layout that has what each of some has, which differ in their aggregates only."""
    if len(layouts) == 1:
        return layouts[0]
    aggregates = dict(each for layout in layouts for each in layout.aggregates)
    return replace(layouts[0], aggregates=tuple(sorted(aggregates.items())))
