"""Place: where a plan's tasks run on Penstock, and what the ways there cost.

In the driver tasks are threads, and nothing crosses. Workers get items as files: that takes time
for each window, and each stage is a job.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.functions.tuning.curves import CostCurve
from penstock.functions.tuning.plans import SpreadPlan
from penstock.functions.tuning.sites import Costs
from penstock.functions.tuning.stage_costs import Staged, predict_staged
from penstock.model.definitions import Sites

DRIVER: Sites = "driver"
WORKERS: Sites = "workers"
WORTH = 1.5  # times the better prediction: beyond that a place is not tried
WAYS = 4  # of a window that is distributed: into a branch and out, into the merge and out


@dataclass(frozen=True, slots=True)
class Placed:
    """What a plan would take in the better of its places."""

    plan: SpreadPlan
    seconds: float
    bottleneck: str


def with_ways(
    costs: Costs, plan: SpreadPlan, size: int, slots: int, seen: Mapping[str, float]
) -> Costs:
    """Return costs with the ways to workers, from what a distributed plan took there.

    `seen` has the seconds a window of crossing and of everything.
    """
    way = CostCurve(linear=seen["crossing"] / WAYS / size)
    found = replace(costs, receive=way, send=way, system=0.0)
    stages = 1 + len(plan.fans)
    rest = seen["elapsed"] - predict_staged(plan, found, size, slots).seconds
    return replace(found, system=max(0.0, rest) / stages)


def predict_placed(
    plan: SpreadPlan, places: Mapping[Sites, Costs], size: int, slots: int
) -> Placed:
    """Return what a plan would take where it takes least."""
    told = _told(plan, places, size, slots)
    name = min(told, key=lambda each: told[each].seconds)
    return Placed(plan, told[name].seconds, f"{told[name].bottleneck}, {name}")


def worth_trying(
    plan: SpreadPlan, places: Mapping[Sites, Costs], size: int, slots: int
) -> tuple[Sites, ...]:
    """Return the places that may turn out to be the better one."""
    told = _told(plan, places, size, slots)
    least = min(each.seconds for each in told.values())
    return tuple(name for name, each in told.items() if each.seconds <= WORTH * least)


def _told(
    plan: SpreadPlan, places: Mapping[Sites, Costs], size: int, slots: int
) -> dict[Sites, Staged]:
    return {name: predict_staged(plan, costs, size, slots) for name, costs in places.items()}
