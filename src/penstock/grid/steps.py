"""One perspective's cells from its sources' cells: what each data function does."""

from collections.abc import Callable, Sequence

from penstock.grid.functions.aggregates import aggregated
from penstock.grid.functions.interpolation import Fits, interpolated
from penstock.grid.functions.values import converted, merged
from penstock.grid.reach import nested_in
from penstock.grid.space.cells import Cells
from penstock.grid.space.perspectives import Perspective
from penstock.grid.space.spans import Region
from penstock.model.grids import Aggregate, Convert, Interpolate, Merge, Window

Step = Callable[[Perspective, Sequence[Cells], Region], Cells]


def step(window: Window, fits: dict[Perspective, Fits]) -> Step:
    """Return what computes a region of a perspective from the cells that it needs."""

    def computed(node: Perspective, sources: Sequence[Cells], region: Region) -> Cells:
        first = converted(sources[0], node.before)
        match node.function:
            case Convert(formula=formula):
                cells = converted(first, formula)
            case Merge(formula=formula):
                cells = merged(sources, node.called, formula)
            case Aggregate(name=name):
                cells = aggregated(first, nested_in(node, window), region, name)
            case Interpolate(method=method):
                topologies = (node.sources[0].topology, node.topology)
                known = fits.setdefault(node, Fits())
                cells = interpolated(first, topologies, region, method, known)
        return converted(cells, node.after)

    return computed
