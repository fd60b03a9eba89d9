"""Reasons: why a strategy lets a unit run next, in one sentence."""

from penstock.schedule.strategies.adaptive import Adaptive
from penstock.schedule.strategies.earliest_deadline import EarliestDeadline
from penstock.schedule.strategies.fifo import Fifo
from penstock.schedule.strategies.least_laxity import LeastLaxity
from penstock.schedule.strategies.pcs import Pcs
from penstock.schedule.strategies.profit.dense import Dense
from penstock.schedule.strategies.ranked import Ranked
from penstock.schedule.strategies.round_robin import RoundRobin
from penstock.schedule.strategies.weighted_round_robin import WeightedRoundRobin
from penstock.schedule.strategy import ReadyUnit, Strategy


def reason(strategy: Strategy, unit: ReadyUnit, now: float) -> str:
    """Return what made a strategy choose a unit."""
    rank, expire = f"{priority_of(strategy, unit.key) or 0.0:.4g}", _expire(unit, now)
    match strategy:
        case Fifo():
            return f"its oldest tuple came first, {now - unit.waiting_since:.1f} s ago"
        case RoundRobin():
            return "its last turn is longest ago"
        case EarliestDeadline():
            return f"its tuples {expire}, before all others that wait"
        case Adaptive():
            rules = strategy.current
            return f"{type(rules).__name__} rules now, and {reason(rules, unit, now)}"
        case WeightedRoundRobin():
            return f"its {rank} turns of a round are owed longest"
        case LeastLaxity():
            return f"it can wait least: its tuples {expire}"
        case Dense(handling="deadline_dominant"):
            return f"it can wait least of those that can be in time: its tuples {expire}"
        case Dense(handling=handling):
            who = "of all" if handling == "none" else "of those that can be in time"
            return f"its profit of {rank} a second is the highest {who}"
        case Pcs():
            return f"its path's capacity of {rank} tuples a second is the highest"
        case Ranked():
            return f"it frees most memory, {rank} bytes a second"
        case _:
            return "the strategy does not say why"


def priority_of(strategy: Strategy, unit: str) -> float | None:
    """Return what a strategy ranks a unit by, or None where it ranks by what waits alone."""
    rules = strategy.current if isinstance(strategy, Adaptive) else strategy
    return rules.priority.get(unit, 0.0) if isinstance(rules, Ranked) else None


def _expire(unit: ReadyUnit, now: float) -> str:
    left = unit.deadline - now
    if left == float("inf"):
        return "never expire"
    return f"expire in {left:.1f} s" if left >= 0 else f"expired {-left:.1f} s ago"
