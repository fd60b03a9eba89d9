"""Situation: all that a redistribution policy may go by, and what it may touch (DCAPE-33)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.errors import BadOptionError
from penstock.place.network import Network
from penstock.place.placement import Placement
from penstock.place.processor import Processor
from penstock.place.statistics import CostTable, Statistics


@dataclass(frozen=True, slots=True)
class Limits:
    """When to act, and on what. None means all of them."""

    difference: float = 0.1  # between the best and the worst cost; 0: any, 1: never
    units: frozenset[str] | None = None
    processors: frozenset[str] | None = None  # that may be given units
    least_state_bytes: float = 0.0
    most_state_bytes: float = math.inf
    seconds_between: float = 60.0  # so that a placement is tried before the next (thesis 4.3.2)
    attempts: int = 8  # proposals that may be refused before the present placement stays

    def __post_init__(self) -> None:
        """Refuse limits that mean nothing."""
        if not 0 <= self.difference <= 1:
            raise BadOptionError(f"a difference of {self.difference} is not between 0 and 1")
        if not 0 <= self.least_state_bytes <= self.most_state_bytes:
            raise BadOptionError("the least state to move is larger than the largest")
        if self.seconds_between < 0 or self.attempts < 1:
            raise BadOptionError("there has to be a time between decisions, and one attempt")


@dataclass(frozen=True, slots=True)
class Situation:
    """What is placed where, what it costs, and since when it costs more.

    `settled` has each processor's cost as it was first seen after its units last changed.
    """

    network: Network
    placement: Placement
    processors: Sequence[Processor]
    statistics: Statistics
    costs: CostTable
    settled: Mapping[str, float] = field(default_factory=dict)
    limits: Limits = Limits()

    def movable(self, processor: str) -> list[str]:
        """Return the units that may leave a processor."""
        limits = self.limits
        return [
            name
            for name in self.network.units
            if self.placement[name] == processor
            and (limits.units is None or name in limits.units)
            and limits.least_state_bytes
            <= self.statistics.of(name).state_bytes
            <= limits.most_state_bytes
        ]

    def targets(self) -> list[str]:
        """Return the processors that may be given units."""
        allowed = self.limits.processors
        return [each.name for each in self.processors if allowed is None or each.name in allowed]
