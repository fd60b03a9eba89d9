"""Digest: how durations are spread, in little memory, to be added up over time and over machines.

Counts in buckets whose borders grow by a constant factor (Masson, Rim and Lee's DDSketch, with the
range fixed): a quantile is within 1 % of the value of its rank, digests of parts add up to exactly
the digest of the whole, and a train is one `bincount`.
"""

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

ACCURACY = 0.01  # of a value
LEAST_SECONDS, MOST_SECONDS = 1e-6, 1e6  # what is outside counts as at the border
_STEP = math.log((1 + ACCURACY) / (1 - ACCURACY))
_FIRST = math.floor(math.log(LEAST_SECONDS) / _STEP)
BUCKETS = math.ceil(math.log(MOST_SECONDS) / _STEP) - _FIRST + 2  # and one for zero

_EMPTY = np.zeros(BUCKETS)
_EMPTY.setflags(write=False)


@dataclass(frozen=True, slots=True, eq=False)
class Digest:
    """Weights by bucket; the first is of durations of nothing."""

    weights: Values = field(default_factory=lambda: _EMPTY)

    def add(self, seconds: Values, weights: Values | None = None) -> "Digest":
        """Return the digest with durations; what is no number, or below zero, is of nothing."""
        clean = np.nan_to_num(seconds, nan=0.0, posinf=MOST_SECONDS)
        with np.errstate(divide="ignore", invalid="ignore"):
            places = np.ceil(np.log(clean) / _STEP) - _FIRST
        places = np.where(clean < LEAST_SECONDS, 0, np.clip(places, 1, BUCKETS - 1))
        more = np.bincount(places.astype(np.int64), weights, minlength=BUCKETS)
        return Digest(self.weights + more)

    def __add__(self, other: "Digest") -> "Digest":
        """Return both as one."""
        return Digest(self.weights + other.weights)

    def decayed(self, factor: float) -> "Digest":
        """Return the digest with all weights times a factor."""
        return Digest(self.weights * factor)

    @property
    def weight(self) -> float:
        """Return how many durations there were."""
        return float(self.weights.sum())

    def quantile(self, share: float) -> float:
        """Return the duration that a share of them is at most; 0 where there was none."""
        ranks = np.cumsum(self.weights)
        if ranks[-1] <= 0:
            return 0.0
        place = int(np.searchsorted(ranks, share * ranks[-1] * (1 - 1e-12), side="left"))
        place = min(place, int(np.flatnonzero(self.weights)[-1]))
        return 0.0 if place == 0 else 2 * math.exp((place + _FIRST) * _STEP) / (math.exp(_STEP) + 1)
