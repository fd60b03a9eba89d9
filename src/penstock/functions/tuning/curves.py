"""Curves: seconds for one window by its size, fitted to what was measured.

    T(N) = fixed + linear · N + loglinear · N · log2 N + square · N²

with no term below zero, so that a curve never falls. N counts the elements of one vector.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import numpy as np

TERMS = 4
CLOSE = 1.05  # a simpler curve is taken where it is off by no more than this times the least


@dataclass(frozen=True, slots=True)
class TimedWindow:
    """Seconds that one window of a size took."""

    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CostCurve:
    """Seconds for one window of a size."""

    fixed: float = 0.0
    linear: float = 0.0
    loglinear: float = 0.0
    square: float = 0.0

    def at(self, size: float) -> float:
        """Return the seconds for a window of that size."""
        return self.fixed + size * (self.linear + self.loglinear * _log(size) + self.square * size)

    def times(self, factor: float) -> "CostCurve":
        """Return the curve of something so many times as dear."""
        return CostCurve(
            self.fixed * factor, self.linear * factor, self.loglinear * factor, self.square * factor
        )


NOTHING = CostCurve()


def fit(samples: Iterable[TimedWindow]) -> CostCurve:
    """Return the curve with the least relative error at the medians of each size.

    What was measured at one size only is taken as linear, which promises nothing of smaller parts.
    """
    seen: dict[int, list[float]] = {}
    for sample in samples:
        seen.setdefault(sample.size, []).append(max(sample.seconds, 1e-12))
    if not seen:
        return NOTHING
    sizes = sorted(seen)
    told = [median(seen[size]) for size in sizes]
    if len(sizes) == 1:
        return CostCurve(linear=told[0] / sizes[0])
    return _fitted(sizes, told)


def _fitted(sizes: Sequence[int], told: Sequence[float]) -> CostCurve:
    """Try every set of terms: with four of them that is exact, and simpler than to iterate."""
    rows = np.array([[1.0, n, n * _log(n), float(n) * n] for n in sizes]) / np.array(told)[:, None]
    ones = np.ones(len(sizes))
    best, error = CostCurve(linear=told[-1] / sizes[-1]), math.inf
    for count in range(1, min(TERMS, len(sizes)) + 1):
        for terms in combinations(range(TERMS), count):
            scale = np.abs(rows[:, terms]).max(axis=0)
            found = np.linalg.lstsq(rows[:, terms] / scale, ones)[0] / scale
            off = float(np.linalg.norm(rows[:, terms] @ found - ones))
            if (found >= 0).all() and off * CLOSE < error:
                whole = np.zeros(TERMS)
                whole[list(terms)] = found
                best, error = CostCurve(*whole.tolist()), off
    return best


def _log(size: float) -> float:
    return math.log2(size) if size > 1 else 0.0
