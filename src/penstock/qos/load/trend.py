"""Trend: what a rate will be in some seconds, from its level and its slope.

Two decayed averages of different half lives lag behind a rate that grows by different times, so
that their distance tells the slope (Brown's double smoothing, for samples at any distance). After a
step both come to the new rate without swinging past it.
"""

import math
from dataclasses import dataclass

QUICK_SECONDS, SLOW_SECONDS = 0.5, 2.0  # half lives

_QUICK_LAG, _SLOW_LAG = QUICK_SECONDS / math.log(2), SLOW_SECONDS / math.log(2)


@dataclass(frozen=True, slots=True)
class Trend:
    """A rate's two averages, and when they were last told something."""

    quick: float = 0.0
    slow: float = 0.0
    at: float | None = None

    def add(self, rate: float, now: float) -> "Trend":
        """Return the trend with one more sample; time does not go back."""
        if self.at is None:
            return Trend(rate, rate, now)
        passed = now - self.at
        if passed <= 0:
            return self
        return Trend(
            _nearer(self.quick, rate, passed, QUICK_SECONDS),
            _nearer(self.slow, rate, passed, SLOW_SECONDS),
            now,
        )

    @property
    def slope(self) -> float:
        """Return how fast the rate grows, in tuples a second each second."""
        return (self.quick - self.slow) / (_SLOW_LAG - _QUICK_LAG)

    @property
    def level(self) -> float:
        """Return the rate of now, or rather of a moment ago."""
        return self.quick

    def ahead(self, seconds: float) -> float:
        """Return the rate in so many seconds, if it goes on growing; that it falls is not hoped."""
        return self.quick + max(0.0, self.slope) * (seconds + _QUICK_LAG)


def _nearer(before: float, value: float, passed: float, half_life: float) -> float:
    return value + (before - value) * float(0.5 ** (passed / half_life))
