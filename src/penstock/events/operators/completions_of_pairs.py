"""Who completes whom in AND of two, column-wise, in the modes that use up what takes part.

What is held and fits is always of one part: when an occurrence of the other part comes, either it
is completed by what is held, or all of that is too old for ever. Starts have to rise.
"""

from dataclasses import dataclass

import numpy as np

from penstock.events.occurrences.batch import Ints, Mask, coder, spread
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.occurrences.pool import Pool
from penstock.events.occurrences.scan import before, place_in_group, walked
from penstock.events.operators.completions import Meetings

MOST = 2**60  # more than are ever held


@dataclass(frozen=True, slots=True)
class _Fitting:
    """For rows of one part: how many of the other came before, and how many of these fit."""

    high: Ints
    count: Ints


def meet_oldest(pool: Pool, bounds: OccurrenceBounds) -> Meetings:
    """Pair each occurrence with the oldest waiting one of the other part (chronicle).

    The number of those that wait, below zero if they are of the second part, is a walk: an
    occurrence of the first part moves it from s to max(s, −fitting) + 1.
    """
    cap = MOST if bounds.cap is None else bounds.cap
    first = pool.part == 0
    sides = [pool.of_part(0), pool.of_part(1)]
    fitting = np.empty(len(pool), np.int64)
    high = np.empty(len(pool), np.int64)
    for side, other in ((0, 1), (1, 0)):
        found = _fitting(pool, sides[side], sides[other], bounds)
        fitting[sides[side]], high[sides[side]] = found.count, found.high
    place = place_in_group(pool.key)
    shift = np.where(first, 1, -1)
    low = np.where(first, np.minimum(1 - fitting, cap), -cap)
    roof = np.where(first, cap, np.maximum(fitting - 1, -cap))
    stood = before(walked(shift, low, roof, place), place)
    waiting = np.minimum(np.where(first, -stood, stood), fitting)
    at = np.flatnonzero(waiting > 0)
    chosen = high[at] - waiting[at]
    partner = np.empty(len(at), np.int64)
    for side, other in ((0, 1), (1, 0)):
        mine = pool.part[at] == side
        partner[mine] = sides[other][chosen[mine]]
    left = np.ones(len(pool), np.bool_)
    left[at], left[partner] = False, False
    dropped = _beyond(sides, np.where(first, stood, -stood) >= cap, cap, left)
    return _pairs(pool, at, partner, left, dropped)


def meet_all(pool: Pool, bounds: OccurrenceBounds) -> Meetings:
    """Pair each occurrence with all waiting ones of the other part (continuous).

    Only the first of a run of one part can complete something: the run before it, or what its own
    first has left of that.
    """
    begins = np.flatnonzero(
        np.append(True, (pool.key[1:] != pool.key[:-1]) | (pool.part[1:] != pool.part[:-1]))[
            : len(pool)
        ]
    )
    ends = np.append(begins[1:], len(pool))
    taken = _completing(pool, begins, ends, bounds)
    runs = np.flatnonzero(taken)
    low, high = begins[runs - 1] + taken[runs - 1], ends[runs - 1]
    if bounds.cap is not None:
        low = np.maximum(low, high - bounds.cap)
    owner, partner = spread(low, high)
    at = begins[runs][owner]
    left = np.ones(len(pool), np.bool_)
    left[begins[runs]], left[partner] = False, False
    dropped = 0
    if bounds.cap is not None:
        run = np.repeat(np.arange(len(begins)), ends - begins)
        beyond = left & (ends[run] - np.arange(len(pool)) > bounds.cap)
        left &= ~beyond
        dropped = int(beyond.sum())
    if bounds.within is not None:
        fits = pool.end[at] - pool.start[partner] <= bounds.within
        at, partner = at[fits], partner[fits]
    return _pairs(pool, at, partner, left, dropped)


def _completing(pool: Pool, begins: Ints, ends: Ints, bounds: OccurrenceBounds) -> Mask:
    """Say which runs begin with an occurrence that completes something.

    It does if the newest of the run before fits, and is there: a run of one that has completed
    something is gone. Where neither decides, runs take turns.
    """
    follows = np.append(False, pool.key[begins[1:]] == pool.key[begins[:-1]])[: len(begins)]
    if bounds.within is not None:
        newest = pool.start[begins - 1]
        follows &= pool.end[begins] - newest <= bounds.within
    longer = np.append(False, (ends - begins)[:-1] > 1)[: len(begins)]
    decided = ~follows | longer
    at = np.arange(len(begins))
    since = np.maximum.accumulate(np.where(decided, at, 0))
    found: Mask = follows[since] ^ ((at - since) % 2 == 1)
    return found


def _fitting(pool: Pool, rows: Ints, others: Ints, bounds: OccurrenceBounds) -> _Fitting:
    high = np.searchsorted(others, rows)
    low = np.searchsorted(others, pool.key_begins()[rows])
    if bounds.within is not None:
        starts = pool.start[others]
        code = coder(int(pool.key.max(initial=0)) + 1, starts)
        oldest = code(pool.key[rows], pool.end[rows] - bounds.within)
        low = np.maximum(low, np.searchsorted(code(pool.key[others], starts), oldest))
    return _Fitting(high, np.maximum(high - low, 0))


def _beyond(sides: list[Ints], over: Mask, cap: int, left: Mask) -> int:
    """Drop the oldest beyond the cap; return how many."""
    dropped = 0
    for side in sides:
        place = np.flatnonzero(over[side])
        gone = side[place - cap] if len(place) else place
        left[gone] = False
        dropped += len(gone)
    return dropped


def _pairs(pool: Pool, at: Ints, partner: Ints, left: Mask, dropped: int) -> Meetings:
    owner = np.repeat(np.arange(len(at)), 2)
    members = np.stack([partner, at], axis=1).ravel()
    return Meetings(at, owner, members, left, pool.mark, dropped)
