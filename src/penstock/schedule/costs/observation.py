"""What deciders see: figures of operators, units and queries at one moment, all of it frozen.

A figure that nobody has measured, or that came as NaN, infinite or negative, is not there: a
decider says what it takes instead, so that no strategy divides by a figure that it does not have.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from penstock.errors import BadOptionError
from penstock.model.goals import DEFAULT_PRIORITY, HIGHEST, LOWEST

HALF_LIFE_SECONDS = 30.0  # a burst of some seconds shows; what was a few minutes ago does not
ENOUGH = 3.0  # samples of weight one that are believed by half
MICROSECONDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Average:
    """A decayed average: a sample's weight halves every half life, as newer ones come."""

    value: float = math.nan
    weight: float = 0.0
    at: float = 0.0

    @classmethod
    def known(cls, value: float) -> "Average":
        """Return a figure that is declared and not measured: nothing is left to doubt."""
        return cls(value, math.inf) if is_figure(value) else cls()

    def add(
        self, value: float, now: float, *, weight: float = 1.0, half_life: float = HALF_LIFE_SECONDS
    ) -> "Average":
        """Return the average with one sample more; what is no figure changes nothing."""
        if not is_figure(value) or not 0 < weight < math.inf or self.weight == math.inf:
            return self
        kept = self.weight * 0.5 ** (max(0.0, now - self.at) / half_life)
        before = self.value if kept > 0 else 0.0
        total = kept + weight
        return Average(before + (value - before) * (weight / total), total, max(now, self.at))

    @property
    def confidence(self) -> float:
        """Return how far the value may be believed, from 0 (never measured) to 1 (declared)."""
        return 1.0 if self.weight == math.inf else self.weight / (self.weight + ENOUGH)

    def believed(self, prior: float) -> float:
        """Return the value, drawn toward `prior` as far as it is in doubt."""
        if self.weight <= 0 or not is_figure(self.value):
            return prior
        return prior + (self.value - prior) * self.confidence

    def or_else(self, other: float) -> float:
        """Return the value as it is, or `other` where there is none."""
        return self.value if self.weight > 0 and is_figure(self.value) else other


UNMEASURED = Average()


@dataclass(frozen=True, slots=True)
class OperatorFigures:
    """What is known of one operator or unit.

    `seconds` are the cost of one tuple of its input, `selectivity` the tuples that come out for it,
    `rate` its input a second, and `tuple_bytes` the memory of one tuple that comes out. A
    unit's runs had `run_rows` tuples on average, 0 where `seconds` are of tuples alone.
    """

    seconds: Average = UNMEASURED
    selectivity: Average = UNMEASURED
    rate: Average = UNMEASURED
    tuple_bytes: Average = UNMEASURED
    queued_rows: int = 0
    queued_bytes: int = 0
    run_rows: float = 0.0

    @classmethod
    def declared(
        cls,
        seconds: float,
        selectivity: float = 1.0,
        tuple_bytes: float = math.nan,
        rate: float = math.nan,
    ) -> "OperatorFigures":
        """Return figures that are taken as they are, as the simulator's."""
        known = Average.known
        return cls(known(seconds), known(selectivity), known(rate), known(tuple_bytes))


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """What a query asks for, and the earliest deadline of the tuples that wait for it."""

    weight: float = 1.0
    priority: int = DEFAULT_PRIORITY
    deadline: float = math.inf

    def __post_init__(self) -> None:
        """Refuse what no strategy could rank by."""
        if not 0 < self.weight < math.inf:
            raise BadOptionError(f"weight {self.weight} must be above zero and finite")
        if not LOWEST <= self.priority <= HIGHEST:
            raise BadOptionError(
                f"priority {self.priority} must be from {LOWEST} to {HIGHEST}",
                hint=f"{HIGHEST} is the highest, {DEFAULT_PRIORITY} what a query has by itself",
            )


NO_FIGURES, PLAIN_QUERY = OperatorFigures(), QueryFigures()


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything at one moment: by the keys of nodes and units, and the names of queries.

    `run_seconds` are what a run costs whatever it takes.
    """

    operators: Mapping[str, OperatorFigures] = field(default_factory=dict)
    units: Mapping[str, OperatorFigures] = field(default_factory=dict)
    queries: Mapping[str, QueryFigures] = field(default_factory=dict)
    run_seconds: float = 0.0

    def operator(self, key: str) -> OperatorFigures:
        """Return an operator's figures, those of one that was never measured where it is new."""
        return self.operators.get(key, NO_FIGURES)

    def unit(self, key: str) -> OperatorFigures:
        """Return a unit's figures, as `operator` does."""
        return self.units.get(key, NO_FIGURES)

    def query(self, name: str) -> QueryFigures:
        """Return a query's figures, the defaults where it asked for nothing."""
        return self.queries.get(name, PLAIN_QUERY)


NOTHING_SEEN = Observation()


def is_figure(value: float) -> bool:
    """Say whether a number can be a cost, a ratio, a rate or a size."""
    return math.isfinite(value) and value >= 0


def deadline_of(event_time: int | None, valid_for: timedelta | None) -> float:
    """Return until when (seconds since 1970) a result from a tuple of that time is worth something.

    TIME-21: time stamp and validity period; without either there is no end.
    """
    if event_time is None or valid_for is None:
        return math.inf
    return event_time / MICROSECONDS + valid_for.total_seconds()
