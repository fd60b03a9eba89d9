"""Dense: what Basic and OptProfit have in common, units by profit density and by deadline.

Handling of deadlines (TIME-29 to TIME-31): `none` ranks by density alone; `deadline_dominant` by
laxity, then density; `profit_dominant` by density, then laxity. The last two give up what cannot be
in time, and ask LastDitch about what will expire unless it runs now: it takes the slot where its
density is above u times that of the unit at work.
"""

import math
from collections.abc import Sequence
from heapq import nsmallest

from penstock.errors import BadOptionError, UnknownOptionError
from penstock.schedule.costs.work import UnitWork
from penstock.schedule.strategies.ranked import Ranked
from penstock.schedule.strategy import ReadyUnit, RunningUnit

# Who interrupts for a deadline has to earn more than it costs where deadlines rule already, and may
# earn less where they are heard too little (TIME-30, best values of E4.1).
LAST_DITCH = {"none": math.inf, "deadline_dominant": 1.3, "profit_dominant": 0.65}
TRIES = 4  # past capacity the first that are worth most are in time, as a rule
MOMENT = 1e-6  # laxities closer to zero are zero: seconds since 1970 have no finer fractions


class Dense(Ranked):
    """A strategy says the density and the remaining work of each unit."""

    def __init__(self, handling: str = "none", u: float | None = None) -> None:
        """Take how deadlines are handled, and LastDitch's u where it is not the usual one."""
        super().__init__()
        if handling not in LAST_DITCH:
            raise UnknownOptionError(
                f"no handling {handling}", hint=f"there are: {', '.join(LAST_DITCH)}"
            )
        if u is not None and not 0 < u < math.inf:
            raise BadOptionError(f"u {u} must be above zero and finite")
        if u is not None and handling == "none":
            raise BadOptionError(
                "u says when a deadline interrupts, and handling none has no deadlines",
                hint="handling => deadline_dominant or profit_dominant",
            )
        self.handling = handling
        self.u = LAST_DITCH[handling] if u is None else u
        self._seconds: dict[str, float] = {}
        self._finish: dict[str, float] = {}

    def densities(self, work: UnitWork) -> dict[str, float]:
        """Return each unit's profit a second."""
        raise NotImplementedError

    def finish_seconds(self, work: UnitWork) -> dict[str, float]:
        """Return what a tuple costs from each unit on, as far as its deadline counts it."""
        return work.finish_seconds()

    def priorities(self, work: UnitWork) -> dict[str, float]:
        self._seconds, self._finish = work.seconds(), self.finish_seconds(work)
        return self.densities(work)

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the first by the handling's order; what cannot be in time comes after the rest."""
        if self.handling == "profit_dominant":
            ready = self._worth_most(ready, now) or ready
        return min(ready, key=lambda unit: self._order(unit, now)).key if ready else None

    def _worth_most(self, ready: Sequence[ReadyUnit], now: float) -> list[ReadyUnit]:
        """Return the units of the highest gain that can be in time, if a few tries find any.

        Laxities of a thousand need not be asked for each time: gains stay while units wait.
        """
        place = self._places.__getitem__
        gains = [found[0] for found in map(place, ready)]
        for gain in nsmallest(TRIES, set(gains)):
            best = [unit for unit, its in zip(ready, gains, strict=True) if its == gain]
            if found := [unit for unit in best if self._laxity(unit, now) >= -MOMENT]:
                return found
        return []

    def interrupt(self, running: RunningUnit, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return who should run instead: LastDitch's unit, else the first where it goes before."""
        if saved := self._last_ditch(running, ready, now):
            return saved
        first = min(ready, key=lambda unit: self._order(unit, now), default=None)
        if first is None:
            return None
        if self.handling == "deadline_dominant":
            before = -MOMENT <= self._laxity(first, now) < self._laxity_at_work(running, now)
        else:
            before = self._of(first.key) > self._of(running.ready.key)
        return first.key if before else None

    def hopeless(self, ready: Sequence[ReadyUnit], now: float) -> list[str]:
        """Return the units of negative laxity, where deadlines are handled."""
        if self.handling == "none":
            return []
        return [unit.key for unit in ready if self._laxity(unit, now) < -MOMENT]

    def alarm(self, ready: Sequence[ReadyUnit], now: float) -> float:
        """Return when the next laxity is used up."""
        if self.handling == "none":
            return math.inf
        times = (now + self._laxity(unit, now) for unit in ready)
        return min((time for time in times if time > now + MOMENT), default=math.inf)

    def _last_ditch(
        self, running: RunningUnit, ready: Sequence[ReadyUnit], now: float
    ) -> str | None:
        name, rows = running.ready.key, running.ready.waiting_rows
        profit = self._of(name) * rows * self._seconds.get(name, 0.0)
        least = self.u * profit / max(running.remaining_seconds, MOMENT)
        due = [unit for unit in ready if abs(self._laxity(unit, now)) <= MOMENT]
        best = max(due, key=lambda unit: self._of(unit.key), default=None)
        return best.key if best is not None and self._of(best.key) > least else None

    def _gain(self, unit: ReadyUnit) -> float:
        """Return what a second of the run is worth; what is late earns nothing.

        The thesis drops it. Here it runs first, in order, so that a unit with much of it earns
        little with every second, and what is in time elsewhere goes before.
        """
        gain = super()._gain(unit)
        return gain if self.handling == "none" else gain * (1.0 - unit.late)

    def _laxity(self, unit: ReadyUnit, now: float) -> float:
        return unit.deadline - now - unit.waiting_rows * self._finish.get(unit.key, 0.0)

    def _laxity_at_work(self, running: RunningUnit, now: float) -> float:
        name = running.ready.key
        after = max(0.0, self._finish.get(name, 0.0) - self._seconds.get(name, 0.0))
        left = running.remaining_seconds + running.ready.waiting_rows * after
        return running.ready.deadline - now - left

    def _order(self, unit: ReadyUnit, now: float) -> tuple[bool, float, float, int, float]:
        density, depth = self._gain(unit), -self._depth.get(unit.key, 0)
        if self.handling == "none":
            return False, -density, unit.deadline, depth, unit.waiting_since
        laxity = self._laxity(unit, now)
        late = laxity < -MOMENT
        if self.handling == "deadline_dominant":
            return late, laxity, -density, depth, unit.waiting_since
        return late, -density, laxity, depth, unit.waiting_since
