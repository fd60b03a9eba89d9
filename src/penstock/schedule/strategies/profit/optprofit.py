"""OptProfit (TIME-26, TIME-27): the fragment of a tuple's jobs that earns most a second, first.

Fragments are found by Horn's rule (`fragments.py`), not as printed: see `optprofit_paper.py`.
"""

import math

from penstock.schedule.costs.fragments import Forest, Fragment, horn_fragments
from penstock.schedule.costs.work import UnitWork
from penstock.schedule.strategies.profit.dense import Dense


class OptProfit(Dense):
    """Units are cut where trains are shared; those of one fragment have its density.

    A job and the next of its fragment follow one another, as no other is denser. Densities do not
    depend on how many tuples come, so that they are computed once for each observation.
    """

    def fragments(self, forest: Forest) -> list[Fragment]:
        """Return the fragments of a tuple's jobs, the most worth first."""
        return horn_fragments(forest)

    def densities(self, work: UnitWork) -> dict[str, float]:
        """Return the density of each unit's fragment; no later fragment goes before an earlier."""
        found: dict[str, float] = {}
        for forest in work.forests(weighted=True).values():
            most = math.inf
            for fragment in self.fragments(forest):
                most = min(math.nextafter(most, 0.0), fragment.density)
                for name in fragment.jobs:
                    found[name] = max(most, found.get(name, 0.0))
        return found

    def finish_seconds(self, work: UnitWork) -> dict[str, float]:
        """Return what a tuple costs from a unit on, inside its fragment: the rest may come late."""
        found = dict.fromkeys(work.seconds(), 0.0)
        for forest in work.forests(weighted=True).values():
            for fragment in self.fragments(forest):
                for name, factor in _remaining(forest, fragment).items():
                    found[name] = max(factor, found[name])
        seconds = work.seconds()
        return {name: factor * seconds[name] for name, factor in found.items()}


def _remaining(forest: Forest, fragment: Fragment) -> dict[str, float]:
    """Return, for each job, the work from it on in its fragment, as a multiple of its own."""
    inside = set(fragment.jobs)
    total = {name: forest[name].seconds for name in fragment.jobs}
    for name in reversed(fragment.jobs):
        parent = forest[name].parent
        if parent in inside:
            total[parent] += total[name]
    return {name: seconds / forest[name].seconds for name, seconds in total.items()}
