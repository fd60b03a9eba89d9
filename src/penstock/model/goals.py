"""What a query asks of the system: how late, how wrong, how important."""

import math
from dataclasses import dataclass, replace
from datetime import timedelta

from penstock.errors import BadOptionError

LOWEST, DEFAULT_PRIORITY, HIGHEST = 0, 5, 9  # MAV-30
HINTS = {
    "max_latency": "a length of time: max_latency => INTERVAL 2 SECONDS",
    "max_error": "a share: max_error => 0.05 lets an answer be wrong by 5 percent",
    "weight": "1 is what a query has by itself; with 10 it matters ten times as much",
}


@dataclass(frozen=True, slots=True)
class Goals:
    """A query's contract; None means that it asks for nothing."""

    max_latency: timedelta | None = None
    max_error: float | None = None
    weight: float = 1.0
    priority: int = DEFAULT_PRIORITY

    def __post_init__(self) -> None:
        """Refuse contracts that nothing can keep."""
        if self.max_latency is not None and self.max_latency <= timedelta(0):
            raise BadOptionError(
                f"max_latency of {self.max_latency.total_seconds():g} s must be above zero",
                hint=HINTS["max_latency"],
            )
        if self.max_error is not None and not 0 <= self.max_error < 1:
            raise BadOptionError(
                f"max_error {self.max_error:g} must be from 0 to below 1", hint=HINTS["max_error"]
            )
        if not 0 < self.weight < math.inf:
            raise BadOptionError(
                f"weight {self.weight:g} must be above zero and finite", hint=HINTS["weight"]
            )
        if not LOWEST <= self.priority <= HIGHEST:
            raise BadOptionError(
                f"priority {self.priority} must be from {LOWEST} to {HIGHEST}",
                hint=f"{HIGHEST} is the highest, {DEFAULT_PRIORITY} what a query has by itself",
            )


NO_GOALS = Goals()


@dataclass(frozen=True, slots=True)
class Terms:
    """What ALTER QUERY sets: the goals of these names; the others stay as they are."""

    names: tuple[str, ...]
    goals: Goals

    def applied(self, goals: Goals) -> Goals:
        """Return a query's goals with these terms; raise where they need another plan."""
        if "max_error" in self.names and (self.goals.max_error or 0) != (goals.max_error or 0):
            raise BadOptionError(
                "max_error decides how a query is computed, and cannot change while it runs",
                hint="CREATE OR REPLACE QUERY … WITH (max_error => …) begins it anew",
            )
        kept = [name for name in self.names if name != "max_error"]
        return replace(goals, **{name: getattr(self.goals, name) for name in kept})
