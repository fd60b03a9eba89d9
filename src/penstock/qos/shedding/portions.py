"""Portions: what a gate keeps of each train that waits before it.

How much is shed in the long run is decided from time to time, by what is foreseen. A burst is over
by then. So a gate that takes what waits makes it fit: what is kept is no more than those behind it
have time for, and of no train less than its windows can do without.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from penstock.qos.load.tempo import SECOND, Curve, TempoWindows

MOST_WINDOWS = 256  # of one query, that are looked at for a train
PART = 0.2  # of a train, or of a window: less does not decide what that window answers
AS_MUCH = 2.0  # a window that goes on is taken to get at most as much again


def portions(
    rows: Sequence[int], least: Sequence[float], keep: float, room: float
) -> tuple[float, ...]:
    """Return the share of each train that is kept: `keep`, or less where there is no room for it.

    None is kept less than its `least`, whatever the room.
    """
    level = min(keep, _level(rows, least, room))
    return tuple(max(level, each) for each in least)


def together(rows: Sequence[int], least: Sequence[float], room: float) -> int:
    """Return how many of the trains a gate takes: as many as fit where it drops all it may.

    What it leaves can still be dropped when it has grown old. One it always takes.
    """
    needed = accumulate(count * share for count, share in zip(rows, least, strict=True))
    return max(1, sum(each <= room for each in needed))


def thinnest(curve: Curve, windows: TempoWindows, first: int, last: int) -> float:
    """Return the tuples a second of that window which has fewest, of those that a train is in.

    Of a window that goes on, what is to come is taken to be like what is there, and at most as
    much again; with little of the train in it, other trains will decide. With a window that is
    over they have: the first train of a burst may be all of one that it hardly reaches back into.
    Windows that began before anything is known are judged by what is.
    """
    times, counts = curve
    starts = np.array(windows.around(first, last, MOST_WINDOWS), dtype=float)
    if last > first:  # else all of it is in each
        starts = starts[_depends(curve, starts, windows.span, first, last)]
    lows, highs = np.maximum(starts, times[0]), starts + windows.span
    seen = np.minimum(highs, times[-1])
    known = np.interp(seen, times, counts) - np.interp(lows, times, counts)
    whole, passed = highs - lows, seen - lows
    usable = passed > 0
    if not usable.any():
        return 0.0  # they have only begun: nobody knows
    grown = np.minimum(AS_MUCH, whole[usable] / passed[usable])
    return float((known[usable] * grown / whole[usable]).min() * SECOND)


def _depends(
    curve: Curve, starts: npt.NDArray[np.float64], span: int, first: int, last: int
) -> npt.NDArray[np.bool_]:
    """Say of which windows the answer depends on a train."""
    times, counts = curve
    ends = starts + span
    since, until = np.maximum(starts, first), np.minimum(ends, last)
    of_train = until - since >= PART * min(last - first, span)
    mine = np.interp(until, times, counts) - np.interp(since, times, counts)
    whole = np.interp(ends, times, counts) - np.interp(starts, times, counts)
    of_window = (ends <= times[-1]) & (mine > 0) & (mine >= PART * whole)
    found: npt.NDArray[np.bool_] = of_train | of_window
    return found


def _level(rows: Sequence[int], least: Sequence[float], room: float) -> float:
    """Return the share that, kept of every train that may lose so much, fills the room."""
    order = sorted(range(len(rows)), key=lambda place: least[place])
    fixed = float(sum(rows[n] * least[n] for n in order))  # of trains that keep their least
    free, found = 0, 0.0
    for place, here in enumerate(order):
        free += rows[here]
        fixed -= rows[here] * least[here]
        above = least[order[place + 1]] if place + 1 < len(order) else 1.0
        if free == 0:
            continue
        found = (room - fixed) / free
        if found <= above:
            break
    return max(0.0, min(1.0, found)) if free else 1.0
