"""How many perspectives to make whole, by the average response time (TIME-48).

    R(k) = Σ_{j≤k} d_j·n_j·μ_j  +  (n + 1)/2 · Σ_{i>k} r_i                                   (5.9)

n is the number of blocks of the surface, and r_i what one of them takes at perspective i. The
documents take one μ_i for both sums; here two neighbouring blocks are computed bottom-up as pilots.
The second one tells r_i, since what blocks share is there by then, and what the first one took
beyond it (a variogram's fit, a buffer's filling) is added once. The cells of a whole perspective
are the pilot's density d_j (rho in the documents) times the cells of the region.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from penstock.grid.execution import BOTTOM_UP, Execution, Strategy, Work, needs, path, primary
from penstock.grid.reach import wanted
from penstock.grid.space.perspectives import Node
from penstock.model.grids import NO_WINDOW, Window

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Cost:
    """One perspective: its cells (n), the share that is there (d), and seconds.

    `a_cell` is μ, `a_block` what one more block of the surface takes here. `first` is what the
    first block takes more than another one, `fixed` what it takes besides its cells.
    """

    name: str
    cells: int
    density: float
    a_cell: float
    a_block: float
    first: float = 0.0
    fixed: float = 0.0

    @property
    def whole(self) -> float:
        """Return the seconds that the whole perspective takes."""
        return self.density * self.cells * self.a_cell + self.fixed


@dataclass(frozen=True, slots=True)
class Choice:
    """The costs from the base to the surface, and the blocks of the surface."""

    costs: tuple[Cost, ...]
    blocks: int

    def response(self, top: int) -> float:
        """Return the average response time where the first `top` are made whole (5.9)."""
        whole, pulled = self.costs[:top], self.costs[top:]
        blocks = (self.blocks + 1) / 2 * sum(each.a_block for each in pulled)
        return sum(each.whole for each in whole) + blocks + sum(each.first for each in pulled)

    @property
    def top(self) -> int:
        """Return how many to make whole; the fewest, where some are equal."""
        return min(range(len(self.costs) + 1), key=self.response)


def measured(
    surface: Node,
    window: Window = NO_WINDOW,
    strategy: Strategy = BOTTOM_UP,
    clock: Clock = perf_counter,
) -> Choice:
    """Compute two pilot blocks from the middle, and return what follows from them."""
    region = wanted(surface, window)
    if not len(region):
        return Choice((), 1)
    axis = primary(region)
    slabs = region.axes[axis].cut(strategy.blocks)
    middle = len(slabs) // 2
    pilots = [region.along(axis, each) for each in slabs[middle : middle + 2]]
    execution = Execution(surface, window, strategy, clock)
    work: list[dict[Node, Work]] = []
    for pilot in pilots:
        execution.pull(surface, pilot, axis)
        work.append(execution.work)
        execution.work = {}
    every, some = needs(surface, region, window), needs(surface, pilots[0], window)
    costs = [
        _cost(node.name, (len(every[node]), len(some[node])), work[0][node], work[-1].get(node))
        for node in path(surface)
    ]
    return Choice(tuple(costs), len(slabs))


def _cost(name: str, sizes: tuple[int, int], first: Work, again: Work | None) -> Cost:
    """Return a perspective's costs; without `again` the second pilot found all in a buffer."""
    every, some = sizes
    cells, seconds = (again.cells, again.seconds) if again else (0, 0.0)
    a_cell = seconds / cells if cells else first.seconds / max(1, first.cells)
    return Cost(
        name,
        every,
        density=first.cells / max(1, some * first.pulls),
        a_cell=a_cell,
        a_block=seconds,
        first=max(0.0, first.seconds - seconds),
        fixed=max(0.0, first.seconds - a_cell * first.cells),
    )
