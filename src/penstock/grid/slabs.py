"""A surface too large for one process, slab by slab: what each needs of the bases, and its cells.

A slab is a part of the surface across time, or, where there is one time and all is location
consistent, across space. Where a surface has one time and something is interpolated below it, its
sources are cut instead, and the surface follows from their cells.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from penstock.grid.execution import Execution, needs, path
from penstock.grid.reach import wanted
from penstock.grid.space.cells import Cells, Ints, order_of
from penstock.grid.space.perspectives import (
    Base,
    Node,
    base_of,
    corners,
    micros,
)
from penstock.grid.space.rows import readings_in
from penstock.grid.space.spans import Region, Spans
from penstock.model.grids import Axis, Interpolate, Window

TIME, LAT = 0, 1
RANGES = pa.schema(
    [
        ("slab", pa.int32()),
        ("base", pa.int32()),
        ("begin", pa.timestamp("us", "UTC")),
        ("end", pa.timestamp("us", "UTC")),
        ("south", pa.float64()),
        ("north", pa.float64()),
    ]
)
NUMBERED = pa.schema(
    [
        ("time", pa.int64()),
        ("lat", pa.int64()),
        ("lon", pa.int64()),
        ("value", pa.float64()),
        ("reason", pa.int8()),
    ]
)
Spread = Callable[["Slabs"], pa.Table]


@dataclass(frozen=True, slots=True)
class Slabs:
    """The regions of a surface that are computed apart from each other, over bases by number."""

    surface: Node
    window: Window
    regions: tuple[Region, ...]
    bases: tuple[Base, ...]

    @property
    def ranges(self) -> pa.Table:
        """Return which readings each slab needs, in times and latitudes.

        A latitude is rounded by one cell on both sides; who computes the slab looks again.
        """
        rows: list[tuple[int, int, int, int, float, float]] = []
        for slab, region in enumerate(self.regions):
            below = needs(self.surface, region, self.window)
            for number, base in enumerate(self.bases):
                times, lats = below[base].time, below[base].lat
                if not len(times) or not len(lats):
                    continue
                south, north = _degrees(base.topology.lat, lats)
                begins = micros(base.topology.time, times.starts).tolist()
                ends = micros(base.topology.time, times.stops).tolist()
                rows += [
                    (slab, number, begin, end, south, north)
                    for begin, end in zip(begins, ends, strict=True)
                ]
        columns = list(zip(*rows, strict=True)) or [()] * len(RANGES)
        return pa.Table.from_arrays(
            [pa.array(each, kind.type) for each, kind in zip(columns, RANGES, strict=True)],
            schema=RANGES,
        )

    def cells(self, slab: int, readings: pa.Table) -> pa.Table:
        """Return the cells of a slab from its readings: base, time, lat, lon, value."""
        number = readings["base"].to_numpy()
        filled: dict[Node, Node] = {}
        for at, base in enumerate(self.bases):
            own = readings.filter(pa.array(number == at)).drop_columns(["base"])
            made = base_of(base.name, base.topology, readings_in(own))
            filled[base] = replace(made, extent=base.extent)
        surface = with_bases(self.surface, filled)
        cells = Execution(surface, self.window).pull(surface, self.regions[slab])
        columns = [*cells.numbers, cells.value, cells.reason]
        return pa.Table.from_arrays([pa.array(each) for each in columns], schema=NUMBERED)


def spread_cells(
    surface: Node, window: Window, rows_of: Callable[[Base], int], spread: Spread, most: int
) -> Cells:
    """Return the cells of a surface whose bases have no readings here.

    `spread` returns the cells of slabs, in any order; none needs many more than `most` readings,
    as `rows_of` counts them, where they lie evenly.
    """
    return _spread(surface, wanted(surface, window), window, (rows_of, spread, most))


def _spread(
    node: Node, region: Region, window: Window, how: tuple[Callable[[Base], int], Spread, int]
) -> Cells:
    if not len(region):
        return in_order(NUMBERED.empty_table())
    if isinstance(node, Base) or len(region.time) > 1 or not _interpolates(node):
        return in_order(how[1](_slabs(node, region, window, how)))
    execution = Execution(node, window)
    below = needs(node, region, window)
    for each in node.sources:
        execution.give(each, _spread(each, below[each], window, how))
    return execution.pull(node, region)


def _slabs(
    node: Node, region: Region, window: Window, how: tuple[Callable[[Base], int], Spread, int]
) -> Slabs:
    rows_of, _, most = how
    bases = tuple(each for each in needs(node, region, window) if isinstance(each, Base))
    axis = TIME if len(region.time) > 1 else LAT
    count = max(1, -(-sum(map(rows_of, bases)) // most))
    regions = [region.along(axis, each) for each in region.axes[axis].cut(count)]
    return Slabs(node, window, tuple(regions), bases)


def in_order(table: pa.Table) -> Cells:
    """Return numbered cells in their order."""
    time, lat, lon, value, reason = (
        each.to_numpy() if table.num_rows else np.empty(0, each.type.to_pandas_dtype())
        for each in table.columns
    )
    cells = Cells(time, lat, lon, value, reason)
    return cells.taken(order_of(time, lat, lon))


def with_bases(node: Node, filled: Mapping[Node, Node]) -> Node:
    """Return a tree over other bases; what several perspectives read stays one."""
    done: dict[Node, Node] = dict(filled)
    for each in path(node):
        done[each] = replace(each, sources=tuple(done[below] for below in each.sources))
    return done[node]


def _interpolates(node: Node) -> bool:
    """Say whether a slab across space would need all of the base."""
    if isinstance(node, Base):
        return False
    return isinstance(node.function, Interpolate) or any(map(_interpolates, node.sources))


def _degrees(axis: Axis, held: Spans) -> tuple[float, float]:
    ends: Ints = np.array([held.first - 1, held.stop + 1])
    south, north = corners(axis, ends).tolist()
    return south, north


def extent_of(base: Base, low: Sequence[int | float], high: Sequence[int | float]) -> Base:
    """Return a base without cells that reaches from the lowest to the highest time and place."""
    time = np.array([low[0], high[0]], np.int64)
    lat, lon = (np.array([low[at], high[at]], float) for at in (1, 2))
    ends = base_of(base.name, base.topology, (time, lat, lon, np.zeros(2)))
    return replace(base, extent=ends.extent)
