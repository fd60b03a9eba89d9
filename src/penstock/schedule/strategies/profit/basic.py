"""Basic, Aurora's greedy strategy (TIME-25): the operator whose results are worth most a second."""

from penstock.schedule.costs.flow import CostedGraph
from penstock.schedule.costs.work import UnitWork
from penstock.schedule.strategies.profit.dense import Dense


class Basic(Dense):
    """Units are single operators; one's profit is all that any query could get from its output."""

    def ends(self, flow: CostedGraph) -> set[str]:
        return set(flow.shape.inputs)

    def densities(self, work: UnitWork) -> dict[str, float]:
        """Return the sum of the downstream queries' profits over the operator's own cost."""
        found: dict[str, float] = {}
        below = _downstream(work)
        for forest in work.forests(weighted=True).values():
            for name, job in forest.items():
                worth = sum(forest[each].profit for each in below[name] if each in forest)
                found[name] = max(worth / job.seconds, found.get(name, 0.0))
        return found


def _downstream(work: UnitWork) -> dict[str, set[str]]:
    """Return the units that each one's output reaches, itself among them."""
    found: dict[str, set[str]] = {part.key: {part.key} for part in work.parts}
    for part in reversed(work.parts):
        for leaf in part.leaves:
            if leaf in found:
                found[leaf] |= found[part.key]
    return found
