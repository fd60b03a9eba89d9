"""Top-down, bottom-up and hybrid-k: how a surface's cells come to be (TIME-45, TIME-47).

    base → first → … → k-th        as a whole, one after the other (top-down)
           (k+1)-th → … → surface  block by block, each pulling what it needs (bottom-up)

A block is a slab of the surface across its primary axis. What blocks share is computed once: each
perspective that is pulled has a buffer, from which goes after each block what the next one does not
need. Where all is location consistent that is the candidates window, which shrinks from below;
where input is selected across, it is the look ahead.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from time import perf_counter

from penstock.errors import BadGridError
from penstock.grid.functions.interpolation import Fits
from penstock.grid.reach import is_filled, needed, wanted
from penstock.grid.space.cells import Cells, together
from penstock.grid.space.perspectives import Base, Node, Perspective
from penstock.grid.space.spans import Region, Spans, around
from penstock.grid.steps import step
from penstock.model.grids import NO_WINDOW, Window

BLOCKS = 24  # of a surface: the first is there after a 24th of the work
TIME, LAT, LON = range(3)
MOST_IN_SLICE = 10_000_000  # cells that are interpolated together: 1 GB with what that takes
MOST_CELLS = 50_000_000  # of a perspective that is filled, in one process: 2 GB


@dataclass(frozen=True, slots=True)
class Strategy:
    """The first `top` perspectives are made whole; what blocks share is kept where `buffered`."""

    top: int = 0
    buffered: bool = True
    blocks: int = BLOCKS


BOTTOM_UP = Strategy()


@dataclass(slots=True)
class Work:
    """What computing a perspective has taken so far: seconds, cells made, regions asked for."""

    seconds: float = 0.0
    cells: int = 0
    pulls: int = 0


@dataclass(slots=True)
class Buffer:
    """Cells of a perspective along the primary axis; along the others they are those of `region`.

    Only regions that are equal along the others can be served from it.
    """

    region: Region
    cells: Cells


@dataclass(slots=True)
class Execution:
    """Computes the cells of one surface within one window."""

    surface: Node
    window: Window = NO_WINDOW
    strategy: Strategy = BOTTOM_UP
    clock: Callable[[], float] = perf_counter
    work: dict[Node, Work] = field(default_factory=dict)
    _whole: dict[Node, Cells] = field(default_factory=dict)
    _buffers: dict[Node, Buffer] = field(default_factory=dict)
    _fits: dict[Perspective, Fits] = field(default_factory=dict)

    def cells(self) -> Cells:
        """Return all cells of the surface."""
        return together(list(self.blocks()))

    def blocks(self) -> Iterator[Cells]:
        """Yield the cells of the surface block by block, each as soon as it is there."""
        region = wanted(self.surface, self.window)
        if not len(region):
            return
        self.materialise(region)
        axis = primary(region)
        slabs = [region.along(axis, each) for each in region.axes[axis].cut(self.strategy.blocks)]
        for at, slab in enumerate(slabs):
            yield self.pull(self.surface, slab, axis)
            self._expire(slabs[at + 1] if at + 1 < len(slabs) else None, axis)

    def materialise(self, region: Region) -> None:
        """Make the first perspectives whole, as far as the surface needs them."""
        first = path(self.surface)[: self.strategy.top]
        regions = needs(self.surface, region, self.window)
        for node in first:
            self._whole[node] = self._computed(node, regions[node], None)

    def give(self, node: Node, cells: Cells) -> None:
        """Take the cells of a perspective or a base as given: those that will be asked for."""
        self._whole[node] = cells

    def pull(self, node: Node, region: Region, axis: int | None = None) -> Cells:
        """Return some cells of a perspective; with an axis, what was pulled before is reused."""
        if (whole := self._whole.get(node)) is not None:
            return region.of(whole)
        if isinstance(node, Base):
            return self._read(node, region)
        if axis is None or not self.strategy.buffered:
            return self._computed(node, region, axis)
        held = self._buffers.get(node)
        if held is None or not _alike(held.region, region, axis):
            cells = self._computed(node, region, axis)
            self._buffers[node] = Buffer(region, cells)
            return cells
        missing = region.axes[axis] - held.region.axes[axis]
        if len(missing):
            made = self._computed(node, region.along(axis, missing), axis)
            both = held.region.axes[axis] | missing
            self._buffers[node] = held = Buffer(
                region.along(axis, both), together([held.cells, made])
            )
        return region.of(held.cells)

    @property
    def buffered_cells(self) -> int:
        """Return how many cells are kept for later blocks."""
        return sum(len(each.cells) for each in self._buffers.values())

    def _computed(self, node: Perspective, region: Region, axis: int | None) -> Cells:
        below = needed(node, region, self.window)
        sources = [self.pull(each, below, axis) for each in node.sources]
        begun = self.clock()
        cells = step(self.window, self._fits)(node, sources, region)
        self._note(node, self.clock() - begun, len(cells))
        return cells

    def _read(self, base: Base, region: Region) -> Cells:
        begun = self.clock()
        cells = region.of(base.cells)
        self._note(base, self.clock() - begun, len(cells))
        return cells

    def _note(self, node: Node, seconds: float, cells: int) -> None:
        done = self.work.setdefault(node, Work())
        done.seconds += seconds
        done.cells += cells
        done.pulls += 1

    def _expire(self, following: Region | None, axis: int) -> None:
        """Let go of what the next block does not need."""
        ahead = {} if following is None else needs(self.surface, following, self.window)
        for node, held in list(self._buffers.items()):
            if node is self.surface or node not in ahead:
                del self._buffers[node]
                continue
            kept = held.region.along(axis, held.region.axes[axis] & ahead[node].axes[axis])
            self._buffers[node] = Buffer(kept, kept.of(held.cells))


def primary(region: Region) -> int:
    """Return the axis along which a surface is cut: time, or the longer one within a slice."""
    if len(region.time) > 1:
        return TIME
    return LAT if len(region.lat) >= len(region.lon) else LON


def path(surface: Node) -> list[Perspective]:
    """Return the perspectives from the base to the surface, each behind those that it reads."""
    found: dict[Perspective, None] = {}

    def visit(node: Node) -> None:
        if isinstance(node, Perspective) and node not in found:
            for each in node.sources:
                visit(each)
            found[node] = None

    visit(surface)
    return list(found)


def needs(surface: Node, region: Region, window: Window) -> dict[Node, Region]:
    """Return the cells of every perspective and base that a region of the surface needs."""
    found: dict[Node, Region] = {surface: region}
    for node in reversed(path(surface)):
        below = needed(node, found[node], window)
        for each in node.sources:
            found[each] = around([found[each], below]) if each in found else below
    return found


def refuse_huge(regions: Mapping[Node, Region], *, whole: bool) -> None:
    """Raise where a slice that is interpolated has too many cells, or all that are held at once."""
    for node, held in regions.items():
        if not is_filled(node):
            continue  # what is not there takes no room
        in_slice = len(held.lat) * len(held.lon)
        cells = in_slice * len(held.time)
        if in_slice > MOST_IN_SLICE or (whole and cells > MOST_CELLS):
            raise BadGridError(
                f"{node.name} would have {max(cells, in_slice):,} cells here",
                hint="narrow the window, or take a coarser GRID",
            )


def _alike(held: Region, region: Region, axis: int) -> bool:
    """Say whether two regions are equal along all axes but one."""
    pairs = zip(held.axes, region.axes, strict=True)
    return all(at == axis or _equal(one, other) for at, (one, other) in enumerate(pairs))


def _equal(one: Spans, other: Spans) -> bool:
    return len(one - other) == 0 and len(other - one) == 0
