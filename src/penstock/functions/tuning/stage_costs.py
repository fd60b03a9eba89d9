"""Stages: what a plan takes where one run does all of its tasks, stage after stage.

GSDM's sites work side by side on different windows. A run of Penstock brings a train through the
whole flow: the branches of a plan are tasks that share the slots, each with the partition of its
own share, and every level of combination is a stage behind them. So a window costs the sum of the
stages, and each stage as many rounds as its tasks need on the slots there are. The central plan is
done in pieces of a run, on all slots.
"""

from dataclasses import dataclass
from math import ceil, prod

from penstock.functions.tuning.plans import SpreadPlan, SpreadStrategy
from penstock.functions.tuning.sites import Costs, Phase, Site


@dataclass(frozen=True, slots=True)
class Staged:
    """What a plan would do with windows of a size, a run at a time; `sites` are tasks by stage."""

    plan: SpreadPlan
    size: int
    slots: int
    sites: tuple[Site, ...]

    @property
    def seconds(self) -> float:
        """Return what a window takes, all stages together."""
        return sum(self.stage_seconds(site) for site in self.sites)

    @property
    def bottleneck(self) -> str:
        """Return the stage that takes longest."""
        return max(self.sites, key=self.stage_seconds).name

    def stage_seconds(self, site: Site) -> float:
        """Return what a stage takes for a window: its tasks in rounds, and what it takes anyway."""
        return ceil(site.copies / self.slots) * (site.seconds - site.system) + site.system


def predict_staged(plan: SpreadPlan, costs: Costs, size: int, slots: int) -> Staged:
    """Return what a plan would do."""
    if not plan.fans:
        return Staged(plan, size, slots, (_pieces(costs, size, slots),))
    branches = _split_branches if plan.strategy is SpreadStrategy.SPLIT else _whole_branches
    levels = reversed(range(len(plan.fans)))
    combines = (_combination(plan, costs, size, level) for level in levels)
    return Staged(plan, size, slots, (branches(plan, costs, size), *combines))


def _pieces(costs: Costs, size: int, slots: int) -> Site:
    """Return the central function, of whose windows each slot does a piece."""
    return Site(
        Phase.COMPUTE,
        0,
        slots,
        receive=costs.receive.at(size) / slots,
        process=costs.compute.at(size) / slots,
        send=costs.send.at(size) / slots,
        system=costs.system,
    )


def _whole_branches(plan: SpreadPlan, costs: Costs, size: int) -> Site:
    """Return the tasks that compute whole windows, each picking its own on all levels."""
    share = 1 / plan.degree
    picks = sum(
        costs.route.at(size) / prod(plan.fans[: level + 1]) for level in range(len(plan.fans))
    )
    return Site(
        Phase.COMPUTE,
        0,
        plan.degree,
        receive=share * costs.receive.at(size),
        process=picks + share * costs.compute.at(size),
        send=share * costs.send.at(size),
        system=costs.system,
    )


def _split_branches(plan: SpreadPlan, costs: Costs, size: int) -> Site:
    """Return the tasks that compute parts, each cutting its own out of every window."""
    cuts = sum(
        costs.splits[fan].at(size / prod(plan.fans[:level])) / fan
        for level, fan in enumerate(plan.fans)
    )
    part = size / plan.degree
    return Site(
        Phase.COMPUTE,
        0,
        plan.degree,
        receive=costs.receive.at(size),
        process=cuts + costs.compute.at(part),
        send=costs.send.at(part),
        system=costs.system,
    )


def _combination(plan: SpreadPlan, costs: Costs, size: int, level: int) -> Site:
    """Return the tasks that put a level's branches together, innermost levels being the first."""
    fan, copies = plan.fans[level], prod(plan.fans[:level])
    is_split = plan.strategy is SpreadStrategy.SPLIT
    whole = size / copies if is_split else float(size)
    share = 1.0 if is_split else 1 / copies
    items, part = (fan, whole / fan) if is_split else (1, whole)
    work = costs.combines[fan] if is_split else costs.merge
    return Site(
        Phase.COMBINE,
        level,
        copies,
        receive=share * items * costs.receive.at(part),
        process=share * work.at(whole),
        send=share * costs.send.at(whole),
        system=costs.system,
    )
