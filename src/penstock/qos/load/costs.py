"""Costs of operators that nobody has measured (DCAPE-04 to DCAPE-06), for admission's first guess.

A tuple is read and written for `queue_seconds`, asked a condition for `test_seconds`, and purged
from a window for `purge_seconds`. Once an operator has run, its measured figures go before these.
"""

from dataclasses import dataclass

from penstock.schedule.costs.work import Crossing


@dataclass(frozen=True, slots=True)
class Prices:
    """What the steps of any operator cost, in seconds."""

    queue_seconds: float
    test_seconds: float
    purge_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Side:
    """One input of a join: tuples a second, and the seconds that its window holds them."""

    rate: float
    window_seconds: float

    @property
    def rows(self) -> float:
        """Return the tuples of its state."""
        return self.rate * self.window_seconds


def stateless(prices: Prices, selectivity: float) -> Crossing:
    """Return what a tuple costs a filter, a projection and the like: Eq. 3.2 for one tuple."""
    seconds = prices.queue_seconds + prices.test_seconds + selectivity * prices.queue_seconds
    return Crossing(seconds, selectivity)


def window_join(prices: Prices, mine: Side, other: Side, match: float) -> Crossing:
    """Return what a tuple of one side costs a sliding-window join: Eq. 3.3 for one tuple.

    It is compared with the other side's state, of which a share `match` fits it; in the long run
    every tuple that comes is purged once.
    """
    found = match * other.rows
    seconds = (
        prices.queue_seconds
        + prices.purge_seconds
        + prices.test_seconds * other.rows
        + found * prices.queue_seconds
    )
    return Crossing(seconds, found if mine.rate > 0 else 0.0)
