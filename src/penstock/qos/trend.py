"""Trend: what a rate will be in some seconds, from its level, its slope and how far it jumps.

Holt's double smoothing for samples at any distance: each half life halves what was known before.
"""

from dataclasses import dataclass

LEVEL_SECONDS = 1.0  # a step in the rate is believed by half after so long
SLOPE_SECONDS = 3.0
JUMP_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Trend:
    """A rate's level and slope, and the decayed mean of what came above what was foreseen."""

    level: float = 0.0
    slope: float = 0.0
    jump: float = 0.0
    at: float | None = None

    def add(self, rate: float, now: float) -> "Trend":
        """Return the trend with one more sample; time does not go back."""
        if self.at is None:
            return Trend(rate, 0.0, 0.0, now)
        passed = now - self.at
        if passed <= 0:
            return self
        foreseen = max(0.0, self.level + self.slope * passed)
        off = rate - foreseen
        level = foreseen + off * _believed(passed, LEVEL_SECONDS)
        slope = self.slope + (off / passed) * (
            _believed(passed, LEVEL_SECONDS) * _believed(passed, SLOPE_SECONDS)
        )
        jump = self.jump + (max(0.0, off) - self.jump) * _believed(passed, JUMP_SECONDS)
        return Trend(level, slope, jump, now)

    def ahead(self, seconds: float) -> float:
        """Return the rate in so many seconds, if it goes on as it does."""
        return max(0.0, self.level + self.slope * seconds)

    def high(self, seconds: float) -> float:
        """Return the rate in so many seconds if it also jumps as it used to."""
        return self.ahead(seconds) + self.jump


def _believed(passed: float, half_life: float) -> float:
    return float(1 - 0.5 ** (passed / half_life))
