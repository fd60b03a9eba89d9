"""Slack: the bound on disorder that a stated share of tuples keeps, from what was measured.

A tuple's delay is how far it is behind the greatest time before it. Delays are kept in a digest
whose weights halve in five minutes, and the slack is its quantile. Two things are not disorder: a
single time far in the future (it would make all that follow look late, so it does not count), and
a source's clock that was set anew (when most of a train is far ahead, or whole trains are far
behind, that is the time from now on). After a silence times may be ahead by as long as it was.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from penstock.errors import BadOptionError
from penstock.qos.monitor.digest import ACCURACY, Digest

Times = npt.NDArray[np.float64]

HALF_LIFE_SECONDS = 300.0
LEAST_JUMP_SECONDS = 60.0  # what is closer may be disorder
JUMP_TIMES = 10.0  # the slack
MOST_SHARE = 0.5  # of a train's times far ahead, for a clock that was set
SET_BACK_TRAINS = 3  # in a row that are far behind, for a clock that was set back
SHARE = 0.99


@dataclass(frozen=True, slots=True, eq=False)
class Slack:
    """The greatest time that is believed, when that was, the delays, and how clocks jumped."""

    high: float | None = None
    at: float = 0.0
    delays: Digest = field(default_factory=Digest)
    jumps: int = 0
    strays: int = 0
    behind: int = 0

    def add(self, times: Times, now: float) -> "Slack":
        """Return the slack after a train's event times, in seconds, in the order they came."""
        times = times[np.isfinite(times)]
        if not len(times):
            return self
        if self.high is None:
            near = times[times <= np.median(times) + LEAST_JUMP_SECONDS]
            return self._set(near, now, float(near.min()), jumps=0)
        passed = max(0.0, now - self.at)
        reach = max(LEAST_JUMP_SECONDS, JUMP_TIMES * self.slack(SHARE))
        ahead = times > self.high + passed + reach
        if ahead.mean() > MOST_SHARE:
            return self._set(times[ahead], now, float(times[ahead].min()))
        far_behind = times < self.high - reach
        if far_behind.all():
            if self.behind + 1 >= SET_BACK_TRAINS:
                return self._set(times, now, float(times.min()))
            return replace(self, behind=self.behind + 1, at=now)
        return self._measured(times[~ahead], now, self.high, int(ahead.sum()))

    def slack(self, share: float = SHARE) -> float:
        """Return the seconds within which so large a share of the tuples was in time."""
        if not 0 < share < 1:
            raise BadOptionError(f"a share of tuples in time of {share} must be between 0 and 1")
        return self.delays.quantile(share) * (1 + 2 * ACCURACY)

    def _measured(self, times: Times, now: float, high: float, strays: int) -> "Slack":
        greatest = np.maximum.accumulate(np.concatenate([[high], times]))
        faded = 0.5 ** (max(0.0, now - self.at) / HALF_LIFE_SECONDS)
        delays = self.delays.decayed(faded).add(greatest[:-1] - times)
        return Slack(float(greatest[-1]), now, delays, self.jumps, self.strays + strays)

    def _set(self, times: Times, now: float, high: float, jumps: int = 1) -> "Slack":
        """Go on from another time; what was measured of disorder still holds."""
        start = replace(self, high=high, at=now, jumps=self.jumps + jumps)
        return start._measured(times, now, high, 0)
