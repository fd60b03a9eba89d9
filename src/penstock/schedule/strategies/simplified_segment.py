"""Simplified segment (ANA-08): at most two segments a path, so that a tuple waits at most twice."""

from penstock.errors import BadOptionError
from penstock.schedule.costs.flow import CostedGraph
from penstock.schedule.costs.work import UnitWork
from penstock.schedule.strategies.ranked import Ranked
from penstock.schedule.strategies.segment import breaks

GAMMA = 0.75  # the document's


class SimplifiedSegment(Ranked):
    """The first segment goes on while operators are similar by `gamma`; the rest is the second."""

    needs_operators = True

    def __init__(self, gamma: float = GAMMA) -> None:
        """Take a similarity factor below one: with one, or above, this is the segment strategy."""
        super().__init__()
        if not 0 < gamma < 1:
            raise BadOptionError(
                f"gamma {gamma} must be above 0 and below 1",
                hint=f"{GAMMA} is usual; for 1 there is the strategy segment",
            )
        self.gamma = gamma

    def ends(self, flow: CostedGraph) -> set[str]:
        return {
            path[last] for path in flow.shape.paths for last in breaks(flow, path, self.gamma)[:1]
        }

    def priorities(self, work: UnitWork) -> dict[str, float]:
        return work.release_capacity()
