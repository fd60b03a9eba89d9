"""Flows on a virtual clock: windows go through the sites of a plan, each first come first served.

Every site has a machine of its own, and room for what waits; a window that finds its site busy
waits for all before it. S-Merge gives windows in their order, OS-Join a window when all its parts
are there. The plan and its costs are those that the optimizer predicts from.
"""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from penstock.functions.tuning.plans import SpreadPlan, SpreadStrategy
from penstock.functions.tuning.sites import Costs, Site, sites_of

Times = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FlowRun:
    """How long a segment took from its first window to its last result, and who did what."""

    seconds: float
    busy: dict[str, float]  # the busiest site of each phase and level

    @property
    def idle(self) -> float:
        """Return the share of the time that the busiest site had nothing to do."""
        return 1 - max(self.busy.values()) / self.seconds


@dataclass(slots=True)
class _Clock:
    """What sites need: the costs, how far they scatter, and what each has done."""

    costs: Costs
    drawn: np.random.Generator
    scatter: float
    busy: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def serve(self, site: Site, level: int, arrivals: Times) -> Times:
        """Return when a site is done with each of what arrives, in this order."""
        noise = self.drawn.gamma(1 / self.scatter**2, self.scatter**2, len(arrivals))
        took = site.seconds * noise
        name = f"{site.phase} {level}"
        self.busy[name] = max(self.busy[name], float(took.sum()))
        before = np.cumsum(took) - took
        done: Times = np.maximum.accumulate(arrivals - before) + before + took
        return done


def run_flow(
    plan: SpreadPlan, costs: Costs, size: int, windows: int, *, seed: int, scatter: float = 0.1
) -> FlowRun:
    """Send windows through a plan as fast as it takes them; `scatter` is that of each service."""
    clock = _Clock(costs, np.random.default_rng(seed), scatter)
    done = _through(plan, clock, size, 0, np.zeros(windows))
    return FlowRun(float(done.max()), dict(clock.busy))


def _through(plan: SpreadPlan, clock: _Clock, size: int, level: int, arrivals: Times) -> Times:
    """Return when the results of windows are there, in the order of the windows."""
    sites = sites_of(plan, clock.costs, size)
    parts = clock.serve(sites[0], level, arrivals)
    if not plan.fans:
        return parts
    fan, inner = plan.fans[0], plan.inner()
    if plan.strategy is SpreadStrategy.SPLIT:
        back = [_through(inner, clock, size // fan, level + 1, parts) for _ in range(fan)]
        ready = np.maximum.reduce(back)
    else:
        ready = np.empty_like(parts)
        for branch in range(fan):
            ready[branch::fan] = _through(inner, clock, size, level + 1, parts[branch::fan])
    return clock.serve(sites[-1], level, np.maximum.accumulate(ready))
