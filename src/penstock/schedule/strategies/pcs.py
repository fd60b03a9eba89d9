"""PCS, the path capacity strategy (ANA-04, ANA-05): least latency.

A path's capacity is one over what a tuple costs on all of it. Where paths share operators, a tuple
of the shared part serves several; the capacity is then that of the fragment, results a second, by
the same rule that orders jobs (decision 0010). For paths that share nothing both are the same.
"""

from penstock.schedule.costs.fragments import horn_fragments
from penstock.schedule.costs.work import UnitWork
from penstock.schedule.strategies.ranked import Ranked


class Pcs(Ranked):
    """Units are paths, cut only where they are shared or where state asks for it."""

    def priorities(self, work: UnitWork) -> dict[str, float]:
        """Return the capacity of each unit's path: tuples a second."""
        found: dict[str, float] = {}
        for forest in work.forests(weighted=False).values():
            for fragment in horn_fragments(forest):
                for name in fragment.jobs:
                    found[name] = max(fragment.density, found.get(name, 0.0))
        return found
