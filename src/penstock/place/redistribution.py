"""Redistribution: whether units move now, by any cost model and any policy (DCAPE-34).

Algorithm 5 asks a policy until its answer is valid, which never ends where a policy always answers
alike. Here a policy gives placements, best first, and a few of them are looked at.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from penstock.place.costs import CostModel
from penstock.place.costs.observed import Observed
from penstock.place.costs.output_rate import sent_by_units
from penstock.place.placement import Move, Placement, faults_of, moves_between
from penstock.place.policies import Policy
from penstock.place.situation import Limits, Situation
from penstock.place.statistics import CostTable

NEVER = float("-inf")
USUAL = Limits()


@dataclass(frozen=True, slots=True)
class Decision:
    """A placement that is to be, how it differs, and the costs that led to it."""

    placement: Placement
    moves: tuple[Move, ...]
    costs: CostTable


@dataclass(frozen=True, slots=True)
class Redistribution:
    """What is remembered between reports. Each step returns the next, and a decision if it is due.

    Costs are those of a model. The best output and the settled costs of processors are forgotten
    when their units change.
    """

    model: CostModel
    policy: Policy
    limits: Limits = USUAL
    decided_at: float = NEVER
    settled: Mapping[str, float] = field(default_factory=dict)
    best_output: Mapping[str, float] = field(default_factory=dict)

    def step(
        self, seen: Observed, answering: Collection[str], now: float
    ) -> tuple["Redistribution", Decision | None]:
        """Take in a report; decide if the time since the last decision is over."""
        state = self._with_output(seen)
        statistics = replace(seen.statistics, best_output=state.best_output)
        costs = self.model(replace(seen, statistics=statistics))
        state = replace(state, settled={**costs.processors, **state.settled})
        if now - self.decided_at < self.limits.seconds_between:
            return state, None
        if costs.difference <= self.limits.difference:
            return state, None
        situation = Situation(
            seen.network,
            seen.placement,
            seen.processors,
            statistics,
            costs,
            state.settled,
            self.limits,
        )
        decision = self._first_valid(situation, answering)
        if decision is None:
            return replace(state, decided_at=now), None  # to leave all as it is
        return state.after(decision, now), decision

    def after(self, decision: Decision, now: float) -> "Redistribution":
        """Return what is remembered when units have moved."""
        touched = {name for move in decision.moves for name in (move.source, move.target)}
        return replace(
            self,
            decided_at=now,
            settled=_without(self.settled, touched),
            best_output=_without(self.best_output, touched),
        )

    def _first_valid(self, situation: Situation, answering: Collection[str]) -> Decision | None:
        for placement in islice(self.policy(situation), self.limits.attempts):
            moves = moves_between(situation.placement, placement)
            if moves and not faults_of(placement, situation.network, answering):
                return Decision(placement, moves, situation.costs)
        return None

    def _with_output(self, seen: Observed) -> "Redistribution":
        sent = sent_by_units(seen)
        best = dict(self.best_output)
        for each in seen.processors:
            rate = sum(sent[unit] for unit in seen.units_on(each.name))
            best[each.name] = max(rate, best.get(each.name, 0.0))
        return replace(self, best_output=best)


def _without(figures: Mapping[str, float], names: Collection[str]) -> dict[str, float]:
    return {name: figure for name, figure in figures.items() if name not in names}
