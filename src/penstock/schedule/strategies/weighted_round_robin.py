"""Weighted round robin (MAV-55): turns by priority, so that nobody starves.

The document's quantum is an increasing function of priority that it does not give. Here a unit of
priority p has p + 1 turns where one of priority 0 has one, spread evenly.
"""

from collections.abc import Sequence

from penstock.model.goals import DEFAULT_PRIORITY
from penstock.schedule.costs.work import UnitWork
from penstock.schedule.strategies.ranked import Ranked
from penstock.schedule.strategy import ReadyUnit, RunningUnit


class WeightedRoundRobin(Ranked):
    """Law: of units that stay ready, each has turns in proportion to its priority plus one."""

    def __init__(self) -> None:
        """Start with nobody owed anything."""
        super().__init__()
        self._owed: dict[str, float] = {}

    def priorities(self, work: UnitWork) -> dict[str, float]:
        return {name: priority + 1.0 for name, priority in work.priorities().items()}

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Owe every ready unit its share of a turn, and return the one that is owed most."""
        if not ready:
            return None
        shares = {unit.key: self.priority.get(unit.key, DEFAULT_PRIORITY + 1.0) for unit in ready}
        # Who has nothing to do loses its claim: a later burst must not take all turns at once.
        self._owed = {name: self._owed.get(name, 0.0) + share for name, share in shares.items()}
        chosen = max(ready, key=lambda unit: self._owed[unit.key]).key
        self._owed[chosen] -= sum(shares.values())
        return chosen

    def interrupt(self, running: RunningUnit, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Never interrupt a turn."""
        return None
