"""From a bundle's parts to the partials of each selection, key and window."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.states.parts import Part
from penstock.engine.states.state import Run
from penstock.engine.states.windows.closing_small import FEW, Columns, small_closer
from penstock.engine.states.windows.kept_partials import table_of, within
from penstock.engine.trains.rows import Rows, in_memory, laid_together, value_bytes
from penstock.plan.operators.bundles.member import Member, MemberPredicate
from penstock.plan.operators.windows.window_assigner import WindowAssigner
from penstock.plan.sharing.layout import NUMBER, Closing, Layout
from penstock.plan.sharing.predicate_index import NODE, SELECTION

MOST_BYTES = 512 << 20  # of partials that are read from files for it


@dataclass(frozen=True, slots=True)
class MemberSelection:
    """Members that ask the same of the same windows; an owner asks for what it brought, too."""

    windows: int
    asked: MemberPredicate
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Closed:
    """Partials by selection, and the members of each, and its windows.

    `firsts` are the first windows that members answer for, None where that is all.
    """

    table: pa.Table
    members: tuple[tuple[Member, ...], ...]
    windows: tuple[WindowAssigner, ...]
    firsts: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Closer:
    """Closes windows; `owned` is what members brought along, by their roots."""

    layout: Layout
    members: Sequence[Member]
    parts: Sequence[Part]
    owned: Mapping[str, Sequence[Part]]
    firsts: Mapping[str, int | None]

    def closed(self, run: Run, closings: Sequence[Closing]) -> Closed | None:
        """Return what the windows are made of, or None where that is nothing."""
        chosen = self._chosen(closings)
        selections = list(chosen)
        tables = [*self._shared(run, closings, selections)]
        tables += [
            table
            for place, selection in enumerate(selections)
            if (table := self._brought(run, closings, selection, place)) is not None
        ]
        tables = [table for table in tables if table.num_rows]
        if not tables:
            return None
        return Closed(
            self._together(run, tables),
            tuple(tuple(chosen[each]) for each in selections),
            tuple(closings[each.windows].assigner for each in selections),
            self.firsts,
        )

    def _chosen(self, closings: Sequence[Closing]) -> dict[MemberSelection, list[Member]]:
        """Return who asks the same of the same windows."""
        places = {closing.assigner: place for place, closing in enumerate(closings)}
        found: dict[MemberSelection, list[Member]] = {}
        for member in self.members:
            if (place := places.get(member.aggregate.assigner)) is not None:
                owner = member.key if self.owned.get(member.key) else ""
                found.setdefault(MemberSelection(place, member.asked, owner), []).append(member)
        return found

    def _shared(
        self, run: Run, closings: Sequence[Closing], selections: Sequence[MemberSelection]
    ) -> list[pa.Table]:
        parts = within(self.parts, *_bounds(closings))
        if not parts:
            return []
        predicate_index = self.layout.predicate_index
        if not predicate_index:
            table = _closed_by(run, self.layout, parts, closings)
            return _by_windows(table, [selection.windows for selection in selections])
        asked = [(place, each.windows, each.asked) for place, each in enumerate(selections)]
        rows = predicate_index.selection_rows(asked)
        nodes = predicate_index.node_rows(rows[NODE]) if NODE in rows else None
        return [_closed_by(run, self.layout, parts, closings, rows, nodes)]

    def _brought(
        self, run: Run, closings: Sequence[Closing], selection: MemberSelection, place: int
    ) -> pa.Table | None:
        closing = closings[selection.windows]
        parts = within(self.owned.get(selection.owner, ()), *_bounds([closing]))
        if not parts:
            return None
        return _numbered(_closed_by(run, self.layout.untold, parts, [closing]), place)

    def _together(self, run: Run, tables: Sequence[pa.Table]) -> pa.Table:
        whole = laid_together(tables)
        if not any(self.owned.values()):
            return whole
        closer = small_closer(self.layout)
        names = [SELECTION, *(name for name, _ in self.layout.keys), NUMBER]
        if closer is not None and (table := closer.combined(whole, names)) is not None:
            return table
        view = run.view("closed")
        return run.select(self.layout.combine_sql(view), {view: ([in_memory(whole)], None)})


def _closed_by(
    run: Run,
    layout: Layout,
    parts: Sequence[Rows],
    closings: Sequence[Closing],
    selections: Columns | None = None,
    nodes: Columns | None = None,
) -> pa.Table:
    """Return the partials of each selection, key and window: in the driver, or by Spark.

    Parts may be in memory or in files: sums of doubles differ with who adds them, so what decides
    is how many there are, as a replay finds them.
    """
    closer = small_closer(layout)
    if closer is not None and sum(part.count for part in parts) <= FEW:
        whole = laid_together([table_of(part) for part in parts])
        table = None
        if value_bytes(whole) <= MOST_BYTES:
            table = closer.closed(whole, closings, selections, nodes)
        if table is not None:
            return table
    view, chosen, under = run.view("partials"), run.view("selections"), run.view("nodes")
    leaves = {view: (parts, None)}
    leaves |= {} if selections is None else {chosen: (_ints(selections), None)}
    leaves |= {} if nodes is None else {under: (_ints(nodes), None)}
    return run.select(layout.close_sql(view, closings, chosen, under), leaves)


def _bounds(closings: Sequence[Closing]) -> tuple[int, int]:
    low = min(each.assigner.start_of(each.first) for each in closings)
    return low, max(each.assigner.end_of(each.last) for each in closings)


def _by_windows(table: pa.Table, windows: Sequence[int]) -> list[pa.Table]:
    """Return the rows of sets of windows, once for each selection of them, by its number."""
    return [
        _numbered(table.filter(pc.equal(table[SELECTION], number)), place)
        for place, number in enumerate(windows)
    ]


def _numbered(table: pa.Table, place: int) -> pa.Table:
    numbers = pa.array(np.full(table.num_rows, place, dtype=np.int64))
    return table.set_column(table.column_names.index(SELECTION), SELECTION, numbers)


def _ints(columns: Columns) -> list[Rows]:
    return [in_memory(pa.table({n: pa.array(v, pa.int64()) for n, v in columns.items()}))]
