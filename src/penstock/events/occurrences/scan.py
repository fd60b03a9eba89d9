"""Walks of a number that is moved and then held between two bounds, many at once.

Moves of the form p → clip(p + shift, low, high) make another such move when they follow each
other, so all that a walk passes through comes out by doubling, in as many rounds as the longest
walk has binary digits.
"""

import numpy as np

from penstock.events.occurrences.batch import Ints


def walked(shift: Ints, low: Ints, high: Ints, place: Ints) -> Ints:
    """Return where each move leads; a walk begins with 0 where its moves' place is 0."""
    shift, low, high = shift.copy(), low.copy(), high.copy()
    step, longest = 1, int(place.max(initial=-1)) + 1
    while step < longest:
        at = np.flatnonzero(place >= step)
        by, floor, roof = shift[at], low[at], high[at]
        low_at = np.clip(low[at - step] + by, floor, roof)
        high_at = np.clip(high[at - step] + by, floor, roof)
        shift[at] = shift[at - step] + by
        low[at], high[at] = low_at, high_at
        step *= 2
    return np.clip(shift, low, high)


def before(values: Ints, place: Ints) -> Ints:
    """Return where each walk stood before each of its moves."""
    return np.where(place > 0, np.roll(values, 1), 0)


def place_in_group(group: Ints) -> Ints:
    """Return each row's place among its group's; a group's rows stand together."""
    if not len(group):
        return group
    begins = np.append(True, group[1:] != group[:-1])
    at = np.arange(len(group))
    return at - np.maximum.accumulate(np.where(begins, at, 0))
