"""Adaptive (DCAPE-09, ANA-09): changes the strategy while running, by a stated objective.

Each candidate rules for a period and is scored by what waits meanwhile. Afterwards the best rules,
and now and then the one that was not heard longest is tried again, as load changes.
"""

import math
from collections.abc import Callable, Iterable, Sequence

from penstock.errors import BadOptionError, UnknownOptionError
from penstock.schedule.costs.flow import CostedGraph
from penstock.schedule.costs.observation import UNMEASURED, Average, Observation
from penstock.schedule.costs.shape import GraphShape, UnitShape
from penstock.schedule.strategies.chain import Chain
from penstock.schedule.strategies.least_laxity import LeastLaxity
from penstock.schedule.strategies.pcs import Pcs
from penstock.schedule.strategies.profit.optprofit import OptProfit
from penstock.schedule.strategies.ranked import Ranked
from penstock.schedule.strategies.segment import Segment
from penstock.schedule.strategies.simplified_segment import SimplifiedSegment
from penstock.schedule.strategies.weighted_round_robin import WeightedRoundRobin
from penstock.schedule.strategy import Discarding, ReadyUnit, RunningUnit

PERIOD_SECONDS = 10.0  # long enough for what a strategy does to show in the queues
TRY_EVERY = 10  # periods: what trying costs is at most a tenth

Score = Callable[[Sequence[ReadyUnit], float], float]


def waiting_rows(ready: Sequence[ReadyUnit], _: float) -> float:
    """Return the tuples that wait: by Little's law they are latency times rate."""
    return sum(unit.waiting_rows for unit in ready)


def waiting_bytes(ready: Sequence[ReadyUnit], _: float) -> float:
    """Return the memory of what waits."""
    return sum(unit.waiting_bytes for unit in ready)


def late_share(ready: Sequence[ReadyUnit], now: float) -> float:
    """Return the share of waiting tuples whose deadline is over."""
    rows = waiting_rows(ready, now)
    return sum(unit.waiting_rows for unit in ready if unit.deadline < now) / rows if rows else 0.0


OBJECTIVES: dict[str, tuple[Score, Callable[[], tuple[Ranked, ...]]]] = {
    "latency": (waiting_rows, lambda: (Pcs(), SimplifiedSegment(), WeightedRoundRobin())),
    "memory": (waiting_bytes, lambda: (Segment(), Chain(), SimplifiedSegment(), Pcs())),
    "utility": (late_share, lambda: (OptProfit("profit_dominant"), OptProfit(), LeastLaxity())),
}


class Adaptive(Ranked):
    """Units are cut for all candidates at once, so that a change of strategy cuts nothing anew."""

    needs_operators = True

    def __init__(self, objective: str = "latency", period: float = PERIOD_SECONDS) -> None:
        """Take what to care for, and how long a candidate rules before it is judged."""
        super().__init__()
        if objective not in OBJECTIVES:
            raise UnknownOptionError(
                f"no objective {objective}", hint=f"there are: {', '.join(OBJECTIVES)}"
            )
        if not 0 < period < math.inf:
            raise BadOptionError(f"period {period} must be above zero and finite")
        self._score, candidates = OBJECTIVES[objective]
        self._candidates, self._period = candidates(), period
        self._scores: list[Average] = [UNMEASURED] * len(self._candidates)
        self._heard = [0] * len(self._candidates)
        self._rules, self._turn, self._until = 0, 0, -math.inf

    @property
    def current(self) -> Ranked:
        """Return the strategy that rules now."""
        return self._candidates[self._rules]

    def observe(self, seen: Observation) -> None:
        super().observe(seen)
        for each in self._candidates:
            each.observe(seen)

    def ends(self, flow: CostedGraph) -> set[str]:
        return set().union(*(each.ends(flow) for each in self._candidates))

    def adopt(self, shape: GraphShape, parts: tuple[UnitShape, ...]) -> None:
        super().adopt(shape, parts)
        for each in self._candidates:
            each.adopt(shape, parts)

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Judge what waits, change the strategy where its period is over, and let it choose."""
        score, memory = self._score(ready, now), self._period * TRY_EVERY
        if self._until > -math.inf:
            before = self._scores[self._rules]
            self._scores[self._rules] = before.add(score, now, half_life=memory)
        if now >= self._until:
            self._change(now)
        return self.current.next(ready, now)

    def interrupt(self, running: RunningUnit, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Ask the strategy that rules."""
        return self.current.interrupt(running, ready, now)

    def hopeless(self, ready: Sequence[ReadyUnit], now: float) -> list[str]:
        """Ask the strategy that rules, if it gives anything up."""
        rules = self.current
        return rules.hopeless(ready, now) if isinstance(rules, Discarding) else []

    def alarm(self, ready: Sequence[ReadyUnit], now: float) -> float:
        """Ask the strategy that rules, if it waits for anything."""
        rules = self.current
        return rules.alarm(ready, now) if isinstance(rules, Discarding) else math.inf

    def _change(self, now: float) -> None:
        if self._until > -math.inf:
            self._turn += 1
        everyone: Iterable[int] = range(len(self._candidates))
        if self._turn < len(self._candidates):
            self._rules = self._turn
        elif self._turn % TRY_EVERY == 0:
            self._rules = min(everyone, key=lambda each: self._heard[each])
        else:
            self._rules = min(everyone, key=lambda each: self._scores[each].or_else(math.inf))
        self._heard[self._rules] = self._turn + 1
        self._until = now + self._period
