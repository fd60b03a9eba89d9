"""A surface over readings that go on coming: its cells, slice by slice of time (TIME-50).

What a slice's cells are must not depend on what else has come, before or since, so that they are
those that a SELECT over all readings gives. An interpolation's do where nothing bounds the map.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from penstock.errors import BadGridError, NotYetError
from penstock.grid.coalesce import coalesced
from penstock.grid.execution import TIME, Execution, needs, path, refuse_huge
from penstock.grid.reach import is_filled, wanted
from penstock.grid.slabs import with_bases
from penstock.grid.space.perspectives import (
    Base,
    Node,
    base_of,
    derived,
    empty_base,
    number_from,
    seconds,
)
from penstock.grid.space.rows import as_rows, readings_in
from penstock.grid.space.spans import span
from penstock.model.grids import Interpolate, PerspectiveDefinition, Topology, Window


def surface_of(
    bases: Sequence[tuple[str, Topology]], perspectives: Sequence[PerspectiveDefinition]
) -> Node:
    """Return the tree of definitions over bases without readings; the last one is its surface."""
    nodes: dict[str, Node] = {name.lower(): empty_base(name, each) for name, each in bases}
    surface = next(iter(nodes.values()))
    for each in perspectives:
        surface = derived(each, [nodes[source.lower()] for source in each.sources])
        nodes[each.name.lower()] = surface
    return surface


def refuse_unsliced(surface: Node, window: Window) -> None:
    """Raise where no slice's cells would ever be known for good, or no cell is in the window."""
    region = wanted(surface, window)
    if surface.topology.time.period is not None and window.time is None:
        raise BadGridError(
            f"the cells of {surface.name} come again and again, so none of them is ever complete",
            hint="say of which time: WITHIN (time FROM '2007-10-01' TO '2007-11-01')",
        )
    if not is_filled(surface):
        return
    if window.lat is None or window.lon is None:
        raise BadGridError(
            f"{surface.name} interpolates, so its map has no edge while readings still come",
            hint="say which map: WITHIN (lat FROM … TO …, lon FROM … TO …)",
        )
    for each in path(surface):
        if isinstance(each.function, Interpolate) and is_filled(each.sources[0]):
            raise NotYetError(
                f"{each.name} interpolates what is interpolated already, "
                "and how far that reaches is not known while readings still come",
                hint="interpolate once, or ask by a one-time SELECT",
            )
    refuse_huge(needs(surface, region, window), whole=False)


@dataclass(frozen=True, slots=True)
class SurfaceSlices:
    """Computes slices of a surface over bases, in their order, from the readings given."""

    surface: Node
    bases: tuple[Base, ...]
    window: Window

    @classmethod
    def of(
        cls,
        bases: Sequence[tuple[str, Topology]],
        perspectives: Sequence[PerspectiveDefinition],
        window: Window,
    ) -> Self:
        """Return what computes the slices of the last of some perspectives."""
        surface = coalesced(surface_of(bases, perspectives))
        found = {each.name: each for each in _bases_in(surface)}
        return cls(surface, tuple(found[name] for name, _ in bases), window)

    def cells(self, readings: Sequence[pa.Table], first: int, past: int) -> pa.Table:
        """Return the cells with a corner from `first` to before `past`, as rows in their order.

        `readings` are rows of time, lat, lon and value of each base. Scattered cells come whole.
        """
        filled: dict[Node, Node] = {
            base: base_of(base.name, base.topology, readings_in(table))
            for base, table in zip(self.bases, readings, strict=True)
        }
        surface = with_bases(self.surface, filled)
        region = wanted(surface, self.window)
        axis = surface.topology.time
        if axis.period is None:
            corners = (number_from(axis, seconds(each)) for each in (first, past))
            region = region.along(TIME, region.time & span(*corners))
        cells = Execution(surface, self.window).pull(surface, region)
        return as_rows(cells, surface.topology)


def _bases_in(surface: Node) -> list[Base]:
    if isinstance(surface, Base):
        return [surface]
    sources = [each for node in path(surface) for each in node.sources]
    return [each for each in sources if isinstance(each, Base)]
