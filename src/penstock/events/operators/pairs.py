"""Which first goes with which last, in SEQ and NOT: column-wise, for lasts that begin as they end.

Firsts stand by key, end and sequence, lasts by end and sequence. For a last, its candidates are
then the firsts at places [lo, hi): behind `hi` they do not precede it, before `lo` they are out of
its span, behind a middle, or beyond the cap.
"""

from dataclasses import dataclass

import numpy as np

from penstock.events.occurrences.batch import Batch, Coder, Ints, Mask, coder, key_count, spread
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.occurrences.scan import before, place_in_group, walked
from penstock.model.events import Mode


@dataclass(frozen=True, slots=True)
class Pairs:
    """Places of lasts and firsts that go together, and what is left of the firsts."""

    last: Ints
    first: Ints
    left: Mask
    mark: Ints
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Ranges:
    """Each last's candidates are the firsts at [lo, hi); `full` leaves the span out of account."""

    lo: Ints
    hi: Ints
    full: Ints


def starts_rise(firsts: Batch) -> bool:
    """Say whether, inside each key, what ends later never starts earlier."""
    rises = np.diff(firsts.start) >= 0
    return bool((rises | (np.diff(firsts.key) != 0)).all())


def pair_columns(
    mode: Mode, firsts: Batch, middles: Batch, lasts: Batch, bounds: OccurrenceBounds
) -> Pairs:
    """Return who goes with whom; where the span matters, starts have to rise."""
    if not len(lasts):
        none = np.empty(0, np.int64)
        return Pairs(none, none, np.ones(len(firsts), np.bool_), firsts.mark)
    since = bounds.since(lasts)
    keys = key_count(firsts, middles, lasts)
    code = coder(keys, firsts.start, firsts.end, since, middles.start, middles.end)
    ends = code(firsts.key, firsts.end)
    hi = np.searchsorted(ends, code(lasts.key, since))
    full = np.searchsorted(ends, _floors(code, middles, lasts, bounds))
    if bounds.cap is not None:
        full = np.maximum(full, hi - bounds.cap)
    ranges = Ranges(_in_span(code, firsts, lasts, bounds, full), hi, full)
    match mode:
        case Mode.UNRESTRICTED:
            return _every(firsts, lasts, ranges, bounds)
        case Mode.RECENT:
            return _newest(firsts, ranges)
        case Mode.RECENT_UNIQUE:
            return _newest_once(firsts, ranges)
        case Mode.CHRONICLE:
            return _oldest(firsts, lasts, ranges, bounds)
        case Mode.CONTINUOUS | Mode.CUMULATIVE:
            order = np.argsort(lasts.key, kind="stable")
            after = np.searchsorted(code(lasts.key, since)[order], ends, side="right")
            return _next_last(firsts, lasts, ranges, order[after - len(order)], after, bounds)


def _floors(code: Coder, middles: Batch, lasts: Batch, bounds: OccurrenceBounds) -> Ints:
    """Return codes below which no first may end: it is another key's, or has a middle after it."""
    lowest = lasts.key * code.span
    if not len(middles):
        return lowest
    starts = np.maximum.accumulate(code(middles.key, bounds.since(middles)))
    before = np.searchsorted(code(middles.key, middles.end), code(lasts.key, bounds.since(lasts)))
    return np.maximum(lowest, np.where(before > 0, starts[before - 1], lowest))


def _in_span(
    code: Coder, firsts: Batch, lasts: Batch, bounds: OccurrenceBounds, full: Ints
) -> Ints:
    if bounds.within is None:
        return full
    starts = code(firsts.key, firsts.start)
    return np.maximum(full, np.searchsorted(starts, code(lasts.key, lasts.end - bounds.within)))


def _every(firsts: Batch, lasts: Batch, ranges: Ranges, bounds: OccurrenceBounds) -> Pairs:
    last, first = spread(ranges.full, ranges.hi)
    if bounds.within is not None:
        fits = lasts.end[last] - firsts.start[first] <= bounds.within
        last, first = last[fits], first[fits]
    return Pairs(last, first, np.ones(len(firsts), np.bool_), firsts.mark)


def _newest(firsts: Batch, ranges: Ranges) -> Pairs:
    last = np.flatnonzero(ranges.hi > ranges.lo)
    return Pairs(last, ranges.hi[last] - 1, np.ones(len(firsts), np.bool_), firsts.mark)


def _newest_once(firsts: Batch, ranges: Ranges) -> Pairs:
    last = np.flatnonzero(ranges.hi > ranges.lo)
    first, begun = np.unique(ranges.hi[last] - 1, return_index=True)
    fresh = firsts.mark[first] == 0
    chosen = np.sort(begun[fresh])
    mark = firsts.mark.copy()
    mark[first] = 1
    last = last[chosen]
    return Pairs(last, ranges.hi[last] - 1, np.ones(len(firsts), np.bool_), mark)


def _oldest(firsts: Batch, lasts: Batch, ranges: Ranges, bounds: OccurrenceBounds) -> Pairs:
    """Pair by a walk: a last moves the place p of the oldest to min(max(p, lo) + 1, hi)."""
    order = np.argsort(lasts.key, kind="stable")
    lo, hi = ranges.lo[order], ranges.hi[order]
    place = place_in_group(lasts.key[order])
    behind = walked(np.ones(len(lo), np.int64), np.minimum(lo + 1, hi), hi, place)
    first = np.maximum(before(behind, place), lo)
    found = first < hi
    last, first = order[found], first[found]
    left = np.ones(len(firsts), np.bool_)
    left[first] = False
    capped = _beyond_cap(firsts, lasts, ranges, bounds) & left
    back = np.argsort(last, kind="stable")
    return Pairs(last[back], first[back], left & ~capped, firsts.mark, int(capped.sum()))


def _beyond_cap(firsts: Batch, lasts: Batch, ranges: Ranges, bounds: OccurrenceBounds) -> Mask:
    """Say which firsts had too many newer ones when a last came.

    They have to go at once: when the newer ones are used up, nobody could tell any more.
    """
    if bounds.cap is None:
        return np.zeros(len(firsts), np.bool_)
    floor = np.zeros(key_count(firsts, lasts), np.int64)
    np.maximum.at(floor, lasts.key, ranges.hi - bounds.cap)
    beyond: Mask = np.arange(len(firsts)) < floor[firsts.key]
    return beyond


def _next_last(
    firsts: Batch, lasts: Batch, ranges: Ranges, last: Ints, after: Ints, bounds: OccurrenceBounds
) -> Pairs:
    """Give each first to the last that follows it; whoever finds none waits on."""
    followed = (after < len(lasts)) & (lasts.key[last] == firsts.key)
    place = np.arange(len(firsts))
    taken = followed & (place >= ranges.full[last])
    if bounds.within is not None:
        taken &= lasts.end[last] - firsts.start <= bounds.within
    capped = 0
    if bounds.cap is not None:
        capped = int((followed & (place < ranges.hi[last] - bounds.cap)).sum())
    first = np.flatnonzero(taken)
    order = np.argsort(last[first], kind="stable")
    return Pairs(last[first][order], first[order], ~followed, firsts.mark, capped)
