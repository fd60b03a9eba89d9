"""Statistics and costs: what processors report of their units, and what models make of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class UnitFigures:
    """What a unit did since the last report, as its processor measured it."""

    busy: float = 0.0  # seconds of work a second
    needed: float = 0.0  # what it would have taken to keep up
    rows_out: float = 0.0  # a second
    bytes_out: float = 0.0  # a second
    kept_bytes: float = 0.0  # its state, and what waits for it
    state_bytes: float = 0.0  # what a move would carry


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics table (DCAPE-21): all units, as last reported.

    `best_output` is the most rows a second that each processor has sent to others since units
    were last put on it or taken away.
    """

    units: Mapping[str, UnitFigures]
    best_output: Mapping[str, float] = field(default_factory=dict)

    def of(self, unit: str) -> UnitFigures:
        """Return a unit's figures; none were reported of one that has just come."""
        return self.units.get(unit, UnitFigures())


@dataclass(frozen=True, slots=True)
class CostTable:
    """A cost from 0 (idle) to 1 (full) for each processor, and each unit's share of it."""

    processors: Mapping[str, float]
    units: Mapping[str, float]

    @property
    def difference(self) -> float:
        """Return how far apart the best and the worst processor are."""
        costs = self.processors.values()
        return max(costs) - min(costs) if costs else 0.0
