"""Choice: which plan carries a stream with the least utilisation (GSDM-61).

Every plan is predicted; the best few are tried, and so is the central one, which is what any other
has to beat. Of those that were tried the lowest maximum utilisation decides. How a plan is tried
is the caller's: this is a pure function of what it says.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.functions.tuning.plans import CENTRAL, PlanLimits, SpreadPlan, candidates

TRIES = 3  # of plans that are not central
MARGIN = 0.03  # two runs of the same plan differ by as much: fewer sites are taken then

TryOut = Callable[[Sequence[SpreadPlan]], Mapping[SpreadPlan, float]]


class PlanPrediction(Protocol):
    """What a model says of a plan: seconds from window to window, and what they are due to."""

    @property
    def plan(self) -> SpreadPlan:
        """Return the plan."""
        ...

    @property
    def seconds(self) -> float:
        """Return the time from window to window."""
        ...

    @property
    def bottleneck(self) -> str:
        """Return what holds it back."""
        ...


Model = Callable[[SpreadPlan], PlanPrediction]


@dataclass(frozen=True, slots=True)
class FlowDemand:
    """What a flow has to do: windows of a size, so many a second, on so many slots."""

    size: int
    windows_a_second: float
    slots: int


@dataclass(frozen=True, slots=True)
class Line:
    """One plan of the table: what was predicted, and what its bottleneck took when it was tried."""

    prediction: PlanPrediction
    tried_seconds: float | None = None

    @property
    def plan(self) -> SpreadPlan:
        """Return the plan."""
        return self.prediction.plan

    @property
    def seconds(self) -> float:
        """Return the time from window to window: as tried, or else as predicted."""
        told = self.prediction.seconds
        return told if self.tried_seconds is None else self.tried_seconds


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """The plan that was chosen, and the table it was chosen from, best first."""

    asked: FlowDemand
    chosen: SpreadPlan
    lines: tuple[Line, ...]

    def utilisation(self, line: Line) -> float:
        """Return how busy the busiest site of a plan is at the stream's rate."""
        return self.asked.windows_a_second * line.seconds


def choose(
    model: Model,
    asked: FlowDemand,
    limits: PlanLimits,
    *,
    try_out: TryOut | None = None,
    tries: int = TRIES,
    margin: float = MARGIN,
) -> PlanChoice:
    """Return the plan with the lowest maximum utilisation, among those that were tried if any."""
    plans = candidates(limits, asked.size)
    told = sorted((Line(model(plan)) for plan in plans), key=_order)
    lines = told if try_out is None else _tried(told, try_out, tries)
    judged = [line for line in lines if line.tried_seconds is not None] or lines
    best = min(line.seconds for line in judged)
    close = (line for line in judged if line.seconds <= best * (1 + margin))
    chosen = min(close, key=lambda line: (line.plan.sites, line.seconds))
    return PlanChoice(asked, chosen.plan, tuple(sorted(lines, key=_order)))


def _tried(lines: Sequence[Line], try_out: TryOut, tries: int) -> list[Line]:
    """Try the central plan and the best of the others, all at once: they may take turns."""
    spread = [line.plan for line in lines if line.plan != CENTRAL]
    found = try_out([CENTRAL, *spread[:tries]])
    return [Line(line.prediction, found.get(line.plan)) for line in lines]


def _order(line: Line) -> tuple[float, int, str]:
    return line.seconds, line.plan.sites, line.plan.name
