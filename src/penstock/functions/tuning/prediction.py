"""Prediction: how many windows a second a plan can carry, and which site holds it back.

A site does one thing at a time, so none can carry more than one over its seconds a window; and
all of them together have no more than the slots of the machine. The greater of both is the time
that a window costs the whole.
"""

from dataclasses import dataclass

from penstock.functions.tuning.plans import CENTRAL, SpreadPlan
from penstock.functions.tuning.sites import Costs, Site, sites_of

SLOTS = "slots"


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a plan would do with windows of a size, on so many slots."""

    plan: SpreadPlan
    size: int
    slots: int
    sites: tuple[Site, ...]

    @property
    def work(self) -> float:
        """Return the seconds of all sites together for one window."""
        return sum(site.copies * site.seconds for site in self.sites)

    @property
    def busiest(self) -> Site:
        """Return the site with the most to do; the first of equals."""
        return max(self.sites, key=lambda site: site.seconds)

    @property
    def seconds(self) -> float:
        """Return the time from window to window at the greatest throughput."""
        return max(self.busiest.seconds, self.work / self.slots)

    @property
    def bottleneck(self) -> str:
        """Return what bounds the throughput: a site, or the slots that all of them share."""
        return self.busiest.name if self.busiest.seconds >= self.work / self.slots else SLOTS

    def utilisation(self, windows_a_second: float) -> float:
        """Return how busy the busiest is at that rate; above 1 the flow falls behind."""
        return windows_a_second * self.seconds


def predict(plan: SpreadPlan, costs: Costs, size: int, slots: int | None = None) -> Prediction:
    """Return what a plan would do; without slots, every site has a machine of its own."""
    return Prediction(
        plan, size, plan.sites if slots is None else slots, sites_of(plan, costs, size)
    )


def speed_up(plan: SpreadPlan, costs: Costs, size: int, slots: int | None = None) -> float:
    """Return how many times as many windows a second a plan carries as one site would."""
    whole = predict(CENTRAL, costs, size, slots)
    return whole.seconds / predict(plan, costs, size, slots).seconds
