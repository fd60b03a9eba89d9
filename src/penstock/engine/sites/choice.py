"""Where the sites of a flow run: in the driver, or by workers, whichever was faster of late.

In the driver nothing crosses, and branches are threads: numpy lets go of the interpreter while it
computes. Workers have an interpreter each, at the price of the crossing.
"""

import math
from dataclasses import dataclass

from penstock.model.definitions import Sites

TRY_SECONDS = 0.3  # a run that is done sooner gains nothing by a job, which takes 0.04 s alone
TRY_AGAIN = 64  # runs after which the other place gets another chance: load changes
FORGET = 0.5  # the share of the newest run in what is remembered


@dataclass(slots=True)
class Choice:
    """`here` and `there` are the seconds that a byte took of late, in the driver and by workers.

    The first run by workers starts their processes, and does not count.
    """

    sites: Sites
    branches: int
    slots: int
    here: float = 0.0
    there: float | None = None
    since: int = 0
    warm: bool = False

    def by_workers(self, size: int) -> bool:
        """Say whether so many bytes are to be done by workers."""
        if self.sites != "auto":
            return self.sites == "workers"
        if self.branches < 2 or self.slots < 2 or not size:  # noqa: PLR2004  (nothing beside)
            return False
        if self.there is None or self.since >= TRY_AGAIN:
            return self.here * size > TRY_SECONDS
        return self.there < self.here

    def took(self, seconds: float, size: int, *, workers: bool) -> None:
        """Remember what a run took."""
        if not size:
            return
        cost = seconds / size
        if workers and not self.warm:
            self.warm = True
            return
        self.since = 0 if workers else self.since + 1
        if not workers:
            self.here = cost if not self.here else FORGET * cost + (1 - FORGET) * self.here
        elif self.there is None or math.isinf(self.there):
            self.there = cost
        else:
            self.there = FORGET * cost + (1 - FORGET) * self.there

    def failed(self) -> None:
        """Remember that workers cannot do it."""
        self.there, self.since = math.inf, 0
