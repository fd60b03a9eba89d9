"""Batching: how many of the waiting trains one run takes (TIME-32, GSDM-54).

Too few and scheduling is most of the work; too many and tuples of very different expiry are in one
run. The trains' order is kept under every rule, and a run takes at least one.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from penstock.errors import BadOptionError

ALPHA, BETA = 0.9, 4.0  # the thesis' values; results change little within 30 % of them (E4.2)


@dataclass(frozen=True, slots=True)
class WaitingTrain:
    """One train in a queue: its tuples, and the times of the first and the last of them."""

    rows: float
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Pace:
    """What the intelligent rule measures by, in seconds.

    `laxity` is the mean of the jobs now in the system, `gap` the mean time between arrivals.
    """

    laxity: float = math.inf
    gap: float = math.inf


class Batching(Protocol):
    """One decision."""

    def take(self, waiting: Sequence[WaitingTrain], pace: Pace) -> int:
        """Return how many trains from the front make one run, at least one where any waits."""
        ...


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Trains until a number of tuples is reached; 1 is no batching at all."""

    rows: float

    def __post_init__(self) -> None:
        """Refuse lengths that take nothing."""
        if not self.rows > 0:
            raise BadOptionError(f"a batch of {self.rows} tuples must have more than none")

    def take(self, waiting: Sequence[WaitingTrain], pace: Pace) -> int:
        """Return the fewest trains that have so many tuples."""
        total = 0.0
        for count, train in enumerate(waiting, 1):
            total += train.rows
            if total >= self.rows:
                return count
        return len(waiting)


@dataclass(frozen=True, slots=True)
class FixedInterval:
    """Trains whose first tuples are in the same interval of the clock."""

    seconds: float

    def __post_init__(self) -> None:
        """Refuse intervals of no length."""
        if not 0 < self.seconds < math.inf:
            raise BadOptionError(f"an interval of {self.seconds} s must be above zero and finite")

    def take(self, waiting: Sequence[WaitingTrain], pace: Pace) -> int:
        """Return the trains of the first one's interval."""
        return _count_while(
            self._interval(train) == self._interval(waiting[0]) for train in waiting
        )

    def _interval(self, train: WaitingTrain) -> float:
        return math.floor(train.first / self.seconds)


@dataclass(frozen=True, slots=True)
class Intelligent:
    """Trains that may wait for each other, up to the natural end of a burst.

    From head to tail at most `alpha` times the mean laxity, between neighbours at most `beta` times
    the mean gap.
    """

    alpha: float = ALPHA
    beta: float = BETA

    def __post_init__(self) -> None:
        """Refuse factors that would take nothing."""
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < math.inf:
                raise BadOptionError(f"{name} {value} must be above zero and finite")

    def take(self, waiting: Sequence[WaitingTrain], pace: Pace) -> int:
        """Return the trains up to the first that breaks a rule."""
        if not waiting:
            return 0
        longest, widest = self.alpha * max(0.0, pace.laxity), self.beta * max(0.0, pace.gap)
        return 1 + _count_while(
            after.last - waiting[0].first <= longest and after.first - before.last <= widest
            for before, after in pairwise(waiting)
        )


@dataclass(frozen=True, slots=True)
class Everything:
    """All that waits: GSDM's greedy policy."""

    def take(self, waiting: Sequence[WaitingTrain], pace: Pace) -> int:
        """Return all."""
        return len(waiting)


BATCHINGS: dict[str, type[Batching]] = {
    "everything": Everything,
    "fixed_length": FixedLength,
    "fixed_interval": FixedInterval,
    "intelligent": Intelligent,
}


def _count_while(held: Iterable[bool]) -> int:
    count = 0
    for each in held:
        if not each:
            break
        count += 1
    return count
