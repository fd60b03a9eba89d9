"""Figures of whole streams by their definitions: with hindsight, as experiments and tests have it.

Virtual indexes (Def 3.2.5), lags (Def 3.2.6) and DSF (Def 3.4.1) speak of the sorted stream, and
so of its future. What can be said meanwhile, `qos/monitor/order.py` does.
"""

import numpy as np
import numpy.typing as npt

from penstock.qos.monitor.order import Order

Keys = npt.NDArray[np.int64]


def scrambling_factor(keys: Keys) -> int:
    """Return the least k with: where a key is not above a later one's, it is not k behind it."""
    return Order().add(keys).factor


def multiplicity(keys: Keys) -> int:
    """Return how often a key comes at most."""
    return int(np.unique(keys, return_counts=True)[1].max(initial=1))


def virtual_indexes(keys: Keys) -> tuple[Keys, Keys]:
    """Return the first and the last position (from 1) of each key in the sorted stream."""
    ordered = np.sort(keys)
    first = np.searchsorted(ordered, keys, side="left") + 1
    return first, np.searchsorted(ordered, keys, side="right")


def lag(one: Keys, other: Keys, came: tuple[int, int]) -> int:
    """Return how many tuples one stream leads another by, when so many of each had come.

    Both are given whole. `came` is at least 1 for the other; where it has no tuple that early, none
    of the first is its kin.
    """
    mine, its = came
    stands_there = np.sort(other)[its - 1]
    return mine - int(np.count_nonzero(one <= stands_there))


def dependent_factor(keys: Keys, others: Keys) -> int:
    """Return the factor of another column in the order of the keys (DSF); ties by that column."""
    return scrambling_factor(others[np.lexsort((others, keys))])
