"""Durations that age: quantiles of the last minute, of the last ten, and since the start.

Weights in buckets whose borders grow by a constant factor, as `digest.py` has them, but only for
the buckets that are in use, and coarser: every query has some. Time is cut into slots, and whole
slots are forgotten, so a span is up to one slot shorter than it says.
"""

import math
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

ACCURACY = 0.025  # of a value: a quantile is within it of the value of its rank
LEAST_SECONDS = 1e-6  # what is below counts as nothing
_STEP = math.log((1 + ACCURACY) / (1 - ACCURACY))
_NOTHING = math.floor(math.log(LEAST_SECONDS) / _STEP) - 1  # the bucket of durations of nothing

Weights = dict[int, float]


@dataclass(frozen=True, slots=True)
class Span:
    """The last `slots` times `seconds`; without slots all since the start."""

    name: str
    seconds: float = math.inf
    slots: int = 0


MINUTE = Span("minute", 10.0, 6)
TEN_MINUTES = Span("ten minutes", 60.0, 10)
START = Span("start")
SPANS = (MINUTE, TEN_MINUTES, START)


class _Ring:
    """The slots of one span: the present one, and those before it, packed."""

    __slots__ = ("packed", "present", "span")

    def __init__(self, span: Span) -> None:
        self.span = span
        self.present: tuple[int, Weights] = (0, {})
        self.packed: deque[tuple[int, array[int], array[float]]] = deque()

    def weights_at(self, now: float) -> Weights:
        """Return those of the present slot; a clock that was set back adds to the last one."""
        number, weights = self.present
        if now // self.span.seconds > number:
            if weights:
                self.packed.append((number, array("h", weights), array("d", weights.values())))
            self.present = (int(now // self.span.seconds), {})
            while self.packed and self.packed[0][0] <= self.present[0] - self.span.slots:
                self.packed.popleft()
        return self.present[1]

    def total_at(self, now: float) -> Weights:
        """Return the weights of all slots that are in the span."""
        oldest = now // self.span.seconds - self.span.slots
        number, weights = self.present  # first: it may become a packed one meanwhile
        found = weights.copy() if number > oldest else {}
        for other, buckets, packed in tuple(self.packed):
            if other > oldest and other != number:
                for bucket, weight in zip(buckets, packed, strict=True):
                    found[bucket] = found.get(bucket, 0.0) + weight
        return found


class Durations:
    """One writer at a time; readers may look meanwhile."""

    __slots__ = ("_rings", "_total")

    def __init__(self) -> None:
        """Start at nothing."""
        self._total: Weights = {}
        self._rings: tuple[_Ring, ...] = ()

    def add(self, seconds: float, weight: float, now: float) -> None:
        """Count something that took so long; what is below zero took no time."""
        bucket = _bucket(seconds)
        self._rings = self._rings or (_Ring(MINUTE), _Ring(TEN_MINUTES))
        for weights in (self._total, *(ring.weights_at(now) for ring in self._rings)):
            weights[bucket] = weights.get(bucket, 0.0) + weight

    def quantile(self, share: float, now: float, span: Span = MINUTE) -> float | None:
        """Return the duration that a share of them is at most; None where there was none."""
        weights = self._weights(span, now)
        rank, reached = share * sum(weights.values()) * (1 - 1e-12), 0.0
        for bucket in sorted(weights):
            reached += weights[bucket]
            if reached >= rank:
                return _middle(bucket)
        return None

    def weight(self, now: float, span: Span = MINUTE) -> float:
        """Return how much was counted."""
        return sum(self._weights(span, now).values())

    def at_most(self, limits: Sequence[float]) -> list[float]:
        """Return how much since the start was at most each of the rising limits, and at last all.

        What is above a limit by no more than twice the accuracy counts as at most that limit.
        """
        ends = [_bucket(limit) for limit in limits]
        counts = [0.0] * (len(ends) + 1)
        for bucket, weight in self._total.copy().items():
            counts[bisect_left(ends, bucket)] += weight
        return list(accumulate(counts))

    def _weights(self, span: Span, now: float) -> Weights:
        """Return a copy: the writer may add a bucket meanwhile."""
        if span is START:
            return self._total.copy()
        return next((each.total_at(now) for each in self._rings if each.span is span), {})


def _bucket(seconds: float) -> int:
    if not seconds >= LEAST_SECONDS:  # also what is no number
        return _NOTHING
    return math.ceil(math.log(seconds) / _STEP)


def _middle(bucket: int) -> float:
    """Return the value that is equally far, as a share, from both borders of a bucket."""
    return 0.0 if bucket == _NOTHING else 2 * math.exp(bucket * _STEP) / (math.exp(_STEP) + 1)
