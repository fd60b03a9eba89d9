"""Sampler: a stream's rate, looked at less often while it hardly changes (ANA-19, H10).

The last eight samples decide: where their coefficient of variation is below 0.1 the interval
doubles, where it is above 0.3 it halves. Counts are counted anyway; what is saved is the work with
them, for hundreds of streams.
"""

import math
from dataclasses import dataclass

SAMPLES = 8
STEADY, RESTLESS = 0.1, 0.3
LEAST_SECONDS, MOST_SECONDS = 0.25, 8.0


@dataclass(frozen=True, slots=True)
class RateSampler:
    """Rates in tuples a second, the latest last; when to look again, and how often from then on."""

    rates: tuple[float, ...] = ()
    interval: float = LEAST_SECONDS
    due: float = -math.inf
    count: int = 0  # of tuples, at the last look
    at: float = 0.0

    def look(self, count: int, now: float) -> "RateSampler":
        """Return the sampler after a look at how many tuples there were in all, if one is due."""
        if now < self.due:
            return self
        if self.due == -math.inf:
            return RateSampler((), LEAST_SECONDS, now + LEAST_SECONDS, count, now)
        rate = max(0, count - self.count) / (now - self.at)
        rates = (*self.rates, rate)[-SAMPLES:]
        interval = _interval(rates, self.interval)
        return RateSampler(rates, interval, now + interval, count, now)

    @property
    def rate(self) -> float:
        """Return the latest rate; NaN while there is none."""
        return self.rates[-1] if self.rates else math.nan

    @property
    def burstiness(self) -> float:
        """Return how far the highest of the latest rates is above their mean; 1 is steady."""
        mean = sum(self.rates) / len(self.rates) if self.rates else 0.0
        return max(self.rates) / mean if mean > 0 else 1.0


def variation(rates: tuple[float, ...]) -> float:
    """Return the coefficient of variation; what only ever is zero does not vary."""
    mean = sum(rates) / len(rates)
    if mean <= 0:
        return 0.0
    return math.sqrt(sum((each - mean) ** 2 for each in rates) / len(rates)) / mean


def _interval(rates: tuple[float, ...], before: float) -> float:
    if len(rates) >= 2 and variation(rates) > RESTLESS:  # noqa: PLR2004  (one does not vary)
        return max(LEAST_SECONDS, before / 2)
    if len(rates) == SAMPLES and variation(rates) < STEADY:
        return min(MOST_SECONDS, before * 2)
    return before
