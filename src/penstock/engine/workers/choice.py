"""Where the sites of a flow run: in the driver, or by workers, whichever was faster of late.

In the driver nothing crosses, and branches are threads: numpy lets go of the interpreter while it
computes. What is written in Python does not, which shows in cores that nobody uses. Workers have an
interpreter each, at the price of the crossing.
"""

import math
from dataclasses import dataclass

from penstock.model.definitions import Sites

TRY_SECONDS = 0.15  # a run that is done sooner gains nothing by a job, which takes 0.04 s alone
SCALES = 0.75  # of the slots: a driver that uses as many cores leaves workers nothing to gain
TRY_AGAIN = 64  # runs after which the other place gets another chance: load changes
WARM = 2  # runs in the driver before it is judged
SLOW_RUNS = 3  # in a row before workers are tried: to start their processes takes seconds
FORGET = 0.5  # the share of the newest run in what is remembered


@dataclass(slots=True)
class CrossingCosts:
    """`here` and `there` are the seconds that a byte took of late, in the driver and by workers.

    The first run in a place is slower, above all that by workers, which starts their processes: it
    does not count. `slow` is how many runs in a row were long in the driver and left cores unused.
    """

    sites: Sites
    branches: int
    slots: int
    here: float = 0.0
    there: float | None = None
    since: int = 0
    warm: bool = False
    slow: int = 0
    runs: int = 0

    def by_workers(self, size: int) -> bool:
        """Say whether so many bytes are to be done by workers."""
        if self.sites != "auto":
            return self.sites == "workers"
        if self.branches < 2 or self.slots < 2 or not size:  # noqa: PLR2004  (nothing beside)
            return False
        if self.there is None or self.since >= TRY_AGAIN:
            return self.slow >= SLOW_RUNS
        return self.there < self.here

    def took(self, seconds: float, size: int, *, workers: bool, busy: float = 0.0) -> None:
        """Remember what a run took; the driver was `busy` on so many cores meanwhile."""
        if not size:
            return
        cost = seconds / size
        if workers and not self.warm:
            self.warm = True
            return
        self.since = 0 if workers else self.since + 1
        if not workers:
            is_held = busy < SCALES * min(self.branches, self.slots)
            self.slow = self.slow + 1 if is_held and seconds > TRY_SECONDS else 0
            self.runs += 1
            known = self.here if self.runs > WARM else cost
            self.here = FORGET * cost + (1 - FORGET) * known
        elif self.there is None or math.isinf(self.there):
            self.there = cost
        else:
            self.there = FORGET * cost + (1 - FORGET) * self.there

    def failed(self) -> None:
        """Remember that workers cannot do it."""
        self.there, self.since = math.inf, 0
