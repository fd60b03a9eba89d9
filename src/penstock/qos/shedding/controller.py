"""Controller: gates come, change and go as the load does, and not with every breath of it.

More is shed at once, as soon as the load that is foreseen is past what the processor can do; less
only after a while in which less would have done. When the load has been below the goal for that
long, all gates are gone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.errors import BadOptionError
from penstock.qos.load.load import Outlook
from penstock.qos.load.network import Network
from penstock.qos.load.tuning import (
    CHANGE,
    DRAIN_PART,
    GOAL,
    LESS_SECONDS,
    PATIENT_SECONDS,
    START,
    USUAL_PART,
)
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.placement import NO_PLACEMENT, Placement, place


@dataclass(frozen=True, slots=True)
class Rule:
    """The loads between which gates come and go, and how patient the controller is."""

    start: float = START
    goal: float = GOAL
    calm_seconds: float = LESS_SECONDS
    drain_seconds: float = DRAIN_PART * PATIENT_SECONDS  # in which what waits shall be done
    usual_seconds: float = USUAL_PART * PATIENT_SECONDS  # of work that waits in calm times, too
    change: float = CHANGE
    gate_seconds: float = 0.0

    @classmethod
    def of(cls, shortest: float) -> "Rule":
        """Return how hard the controller is: half of the shortest latency is for what waits."""
        seconds = min(shortest, PATIENT_SECONDS)
        return cls(drain_seconds=DRAIN_PART * seconds, usual_seconds=USUAL_PART * seconds)

    def __post_init__(self) -> None:
        """Refuse rules that would open and shut gates for ever."""
        if not 0 < self.goal <= self.start:
            raise BadOptionError(f"goal {self.goal} must be above zero, at most start {self.start}")
        if not (self.calm_seconds >= 0 and self.drain_seconds > 0):
            raise BadOptionError("seconds must not be below zero, and some are needed to drain")


@dataclass(frozen=True, slots=True)
class Shedding:
    """What is shed now, for which release of each processor, and since when less would do."""

    placement: Placement = NO_PLACEMENT
    release: Mapping[str, float] = field(default_factory=dict)
    calm_since: float | None = None

    @property
    def is_active(self) -> bool:
        """Say whether any gate stands."""
        return bool(self.placement.keeps)


NOT_SHEDDING = Shedding()


def adjusted(
    current: Shedding,
    network: Network,
    outlooks: Mapping[str, Outlook],
    limits: Mapping[str, Limit],
    now: float,
    rule: Rule | None = None,
) -> Shedding:
    """Return what shall be shed from now on.

    `network` has the rates that are foreseen, and the outlooks the loads without any gate.
    """
    rule = rule or Rule()
    demands = {
        name: each.demand(rule.drain_seconds, rule.usual_seconds) for name, each in outlooks.items()
    }
    wanted = {name: max(0.0, demand - rule.goal) for name, demand in demands.items()}
    over = any(demand > rule.start for demand in demands.values())
    if not current.is_active:
        return _shedding(network, limits, wanted, rule) if over else NOT_SHEDDING
    before = {name: current.release.get(name, 0.0) for name in wanted}
    if any(each > before[name] + rule.change for name, each in wanted.items()):
        return _shedding(network, limits, wanted, rule)
    is_less = any(each < before[name] - rule.change for name, each in wanted.items())
    if not is_less and any(wanted.values()):
        return current if current.calm_since is None else replace(current, calm_since=None)
    since = now if current.calm_since is None else current.calm_since
    if now - since < rule.calm_seconds:
        return replace(current, calm_since=since)
    return _shedding(network, limits, wanted, rule)


def _shedding(
    network: Network, limits: Mapping[str, Limit], wanted: Mapping[str, float], rule: Rule
) -> Shedding:
    return Shedding(place(network, limits, wanted, rule.gate_seconds), dict(wanted))
