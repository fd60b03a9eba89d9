"""Activity: how often something is done of late, and the share of the time that it takes."""

import math
from dataclasses import dataclass

HALF_LIFE_SECONDS = 10.0  # a checkpoint comes as often: shorter would show each of them


@dataclass(frozen=True, slots=True)
class Activity:
    """Decayed sums of times and of seconds at work, and since when they are counted."""

    times: float = 0.0
    seconds: float = 0.0
    since: float = math.nan
    at: float = 0.0

    def add(self, seconds: float, now: float) -> "Activity":
        """Return it with something that took so long and has just ended."""
        kept = self._kept(now)
        since = now - seconds if math.isnan(self.since) else self.since
        return Activity(
            self.times * kept + 1, self.seconds * kept + seconds, since, max(now, self.at)
        )

    def share(self, now: float) -> float:
        """Return the share of the time at work; 0 while no time has passed."""
        return self._over(self.seconds, now)

    def frequency(self, now: float) -> float:
        """Return how often a second; 0 while no time has passed."""
        return self._over(self.times, now)

    def _over(self, total: float, now: float) -> float:
        if not now > self.since:  # also where nothing was ever counted
            return 0.0
        half_lives = (now - self.since) / HALF_LIFE_SECONDS
        seen = HALF_LIFE_SECONDS / math.log(2) * (1 - math.exp(-half_lives * math.log(2)))
        return total * self._kept(now) / seen

    def _kept(self, now: float) -> float:
        return float(0.5 ** (max(0.0, now - self.at) / HALF_LIFE_SECONDS))


NO_ACTIVITY = Activity()
