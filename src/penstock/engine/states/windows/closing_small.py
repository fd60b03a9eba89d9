"""Closing windows over few partials, in the driver: what `Layout.close_sql` has Spark do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.engine.arrow.grouping import Grouped, grouped
from penstock.engine.trains.rows import laid_together
from penstock.plan.algebra.plain import combinations
from penstock.plan.operators.windows.window_aggregate import PANE
from penstock.plan.sharing.layout import NUMBER, Closing, Layout
from penstock.plan.sharing.predicate_index import (
    NODE,
    SELECTION,
    WINDOWS,
    bucket,
    need,
    predicate_bits,
)

# So many partials, once for each window that they belong to, are sooner combined in the driver
# than read by Spark; the windows of one size and slide at a time.
FEW = 2_000_000
Ints = npt.NDArray[np.int64]
Columns = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class SmallCloser:
    """Combines partials of a layout whose aggregates are plain."""

    layout: Layout
    columns: tuple[Grouped, ...]

    def combined(self, table: pa.Table, names: Sequence[str]) -> pa.Table | None:
        """Return the partials of each group; None where that is Spark's to say."""
        return grouped(table, names, self.columns)

    def closed(
        self,
        table: pa.Table,
        closings: Sequence[Closing],
        selections: Columns | None = None,
        nodes: Columns | None = None,
    ) -> pa.Table | None:
        """Return the partials of each selection, key and window, None where Spark has to.

        `selections` and `nodes` are the rows that `told` makes of the members; where it tells
        nothing apart, a selection is a set of windows, by its place in `closings`.
        """
        windows = self._in_windows(table, closings)
        if windows is None:
            return None
        if selections is None:
            names = [SELECTION if name == WINDOWS else name for name in windows.column_names]
            return windows.rename_columns(names)
        chosen = {name: np.asarray(values, dtype=np.int64) for name, values in selections.items()}
        if nodes is None:
            return self._by_bits(windows, chosen)
        by_node = self._by_node(windows, nodes)
        return None if by_node is None else self._by_selection(by_node, chosen)

    def _in_windows(self, table: pa.Table, closings: Sequence[Closing]) -> pa.Table | None:
        """Return the partials of each window, set by set: their rows are never all there."""
        by_pane: dict[int, pa.Table | None] = {self.layout.pane: table}
        found: list[pa.Table] = []
        for place, closing in enumerate(closings):
            pane = closing.assigner.pane
            if pane not in by_pane:
                by_pane[pane] = self._coarser(table, pane)
            if (mine := by_pane[pane]) is None:
                return None
            first, end = _windows_of(mine[PANE].to_numpy(), closing)
            if int((end - first).sum()) > FEW:
                return None
            rows, numbers = _repeated(first, end)
            windows = {WINDOWS: np.full(len(rows), place), NUMBER: numbers}
            made = self.combined(
                _taken(mine.drop_columns([PANE]), rows, windows),
                [WINDOWS, *self._keys, *self.layout.predicate_index.names, NUMBER],
            )
            if made is None:
                return None
            found.append(made)
        return laid_together(found)

    def _coarser(self, table: pa.Table, pane: int) -> pa.Table | None:
        """Return the partials of longer panes: some windows are made of fewer of these."""
        at = table[PANE].to_numpy()
        moved = table.set_column(table.column_names.index(PANE), PANE, pa.array(at - at % pane))
        return self.combined(moved, [*self._keys, *self.layout.predicate_index.names, PANE])

    def _by_node(self, windows: pa.Table, nodes: Columns) -> pa.Table | None:
        numbers = np.asarray(nodes[bucket(0)], dtype=np.int64)
        rows, places = matched(windows[bucket(0)].to_numpy().astype(np.int64), numbers)
        if len(rows) > FEW:
            return None
        names = np.asarray(nodes[NODE], dtype=np.int64)
        table = _taken(windows.drop_columns([bucket(0)]), rows, {NODE: names[places]})
        return self.combined(table, [WINDOWS, NODE, *self._keys, NUMBER])

    def _by_selection(self, by_node: pa.Table, chosen: Mapping[str, Ints]) -> pa.Table | None:
        rows, places = matched(
            _pairs(by_node[WINDOWS].to_numpy(), by_node[NODE].to_numpy()),
            _pairs(chosen[WINDOWS], chosen[NODE]),
        )
        if len(rows) > FEW:
            return None
        table = _taken(
            by_node.drop_columns([WINDOWS, NODE]), rows, {SELECTION: chosen[SELECTION][places]}
        )
        return self.combined(table, [SELECTION, *self._keys, NUMBER])

    def _by_bits(self, windows: pa.Table, chosen: Mapping[str, Ints]) -> pa.Table | None:
        own = windows[WINDOWS].to_numpy()
        held = [
            windows[predicate_bits(place)].to_numpy()
            for place in self.layout.predicate_index.bit_places
        ]
        found: list[Ints] = []
        for place, window in enumerate(chosen[WINDOWS]):
            met = own == window
            for column, predicates in enumerate(held):
                needed = chosen[need(column)][place]
                met &= (predicates & needed) == needed
            found.append(np.flatnonzero(met))
        sizes = [len(rows) for rows in found]
        if sum(sizes) > FEW:
            return None
        table = _taken(
            windows.drop_columns([WINDOWS, *self.layout.predicate_index.names]),
            np.concatenate(found),
            {SELECTION: np.repeat(chosen[SELECTION], sizes)},
        )
        return self.combined(table, [SELECTION, *self._keys, NUMBER])

    @property
    def _keys(self) -> list[str]:
        return [name for name, _ in self.layout.keys]


def small_closer(layout: Layout) -> SmallCloser | None:
    """Return what combines partials of the layout, None where its aggregates are not plain."""
    how = combinations(layout.aggregates)
    if how is None:
        return None
    columns = tuple((name, function, name) for name, function in how.items())
    return SmallCloser(layout, columns)


def matched(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of places with equal numbers."""
    order = np.argsort(right, kind="stable")
    ordered = right[order]
    first, end = (np.searchsorted(ordered, left, side) for side in ("left", "right"))
    rows, places = _repeated(first, end)
    return rows, order[places]


def _windows_of(panes: Ints, closing: Closing) -> tuple[Ints, Ints]:
    """Return the first of the windows that each pane belongs to, and the first that it does not."""
    size, slide = closing.assigner.end, closing.assigner.lower
    first = np.maximum((panes - size) // slide + 1, closing.first)
    end = np.minimum(panes // slide, closing.last) + 1
    return first, np.maximum(first, end)


def _repeated(first: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return every place once for each number from its first to before its end."""
    counts = end - first
    rows = np.repeat(np.arange(len(first)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, np.repeat(first, counts) + within


def _pairs(high: Ints, low: Ints) -> Ints:
    """Return one number for two; the second is less than 32 bits."""
    return (high.astype(np.int64) << 32) | low.astype(np.int64)


def _taken(table: pa.Table, rows: Ints, columns: Mapping[str, Ints]) -> pa.Table:
    """Return these rows of the table, with more columns."""
    table = table.take(pa.array(rows))
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values, pa.int64()))
    return table
