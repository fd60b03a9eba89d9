"""Least laxity first (TIME-28): who can wait least, counting the work that is left."""

from collections.abc import Sequence

from penstock.schedule.costs.work import UnitWork
from penstock.schedule.strategies.ranked import Ranked
from penstock.schedule.strategy import ReadyUnit, RunningUnit


class LeastLaxity(Ranked):
    """Laxity is the time until the deadline less the work until all results are out."""

    def priorities(self, work: UnitWork) -> dict[str, float]:
        """Return what a tuple costs from each unit on."""
        return work.finish_seconds()

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the unit of the least laxity; those that never expire, as they came."""
        return min(ready, key=self._due).key if ready else None

    def interrupt(self, running: RunningUnit, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Never interrupt: two of equal laxity would take the slot from each other for ever."""
        return None

    def _due(self, unit: ReadyUnit) -> tuple[float, float]:
        return unit.deadline - unit.waiting_rows * self._of(unit.key), unit.waiting_since
