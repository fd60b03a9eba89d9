"""A and A*: the middles in the windows that a first opens and a last closes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.events.occurrences.batch import (
    Batch,
    by_key,
    in_order,
    joined,
    key_count,
    nothing,
    occurrences,
    with_keys_of,
)
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.occurrences.pool import Pool, pooled
from penstock.events.operators.open_windows import Found, OpenWindows, windows_of
from penstock.events.operators.operator import (
    HeldOccurrences,
    Slots,
    StepTime,
    bagged,
    capped,
    flat,
    listed,
    replacing,
    unexpired,
    useful,
)
from penstock.model.events import Mode

FIRST, MIDDLE, LAST = 0, 1, 2
CLOSE_THEN_OPEN = (2, 1, 0)  # at one instant: lasts, middles, firsts


@dataclass(frozen=True, slots=True)
class Aperiodically:
    """One by one at the middles, or `all_at_last`; `at_once`: middles and lasts do not last."""

    mode: Mode
    bounds: OccurrenceBounds
    first: Slots
    middle: Slots
    last: Slots
    at_once: bool
    all_at_last: bool

    @property
    def slots(self) -> Slots:
        """Return the constituents of the windows' firsts, of the middles, and in A* of the last."""
        first = listed(self.first, self.mode is Mode.CUMULATIVE)
        middle = listed(self.middle, self.all_at_last)
        return first + middle + (self.last if self.all_at_last else ())

    @property
    def by_clock(self) -> bool:
        """Nothing occurs by itself."""
        return False

    def empty(self) -> HeldOccurrences:
        """Hold no firsts and no middles."""
        return HeldOccurrences((nothing(len(self.first)), nothing(len(self.middle))))

    def step(
        self, held: HeldOccurrences, new: Sequence[Batch], moment: StepTime
    ) -> tuple[Batch, HeldOccurrences]:
        """Go through the windows of those keys for which something is new."""
        new = [each.spanning(self.bounds.within) for each in new]
        if not any(len(each) for each in new):
            settled = self.trim(held, moment.watermark) if held.is_due else held
            return nothing(len(self.slots)), settled
        asked = [with_keys_of(part, new) for part in held.parts]
        mine = [part.take(at) for part, at in zip(held.parts, asked, strict=True)]
        pool, every = pooled([*mine, nothing(len(self.last))], new, CLOSE_THEN_OPEN)
        windows = windows_of(pool, self.mode, self.bounds, self.at_once)
        found, middles = _gone_through(pool, windows, self.all_at_last)
        left = (
            joined([held.parts[FIRST].take(~asked[0]), firsts_left(pool, every[FIRST], windows)]),
            joined(
                [
                    held.parts[MIDDLE].take(~asked[1]),
                    every[MIDDLE].take(pool.place[np.array(middles, np.int64)]),
                ]
            ),
        )
        rest = HeldOccurrences(left, held.dropped + windows.dropped, held.trimmed)
        rest = self.trim(rest, moment.watermark) if rest.is_due else rest
        return in_order(self._made(pool, every, found, moment)), rest

    def _made(self, pool: Pool, every: list[Batch], found: Found, moment: StepTime) -> Batch:
        at = np.array(found.at, np.int64)
        groups = (found.firsts, found.inside)
        (first, first_cuts), (inside, inside_cuts) = (flat(group) for group in groups)
        refs = [
            every[FIRST].refs[pool.place[first]]
            if self.mode is not Mode.CUMULATIVE
            else bagged(every[FIRST], self.first, pool.place[first], first_cuts, moment.bagging)
        ]
        start = pool.start[at]
        if self.all_at_last:
            middles = pool.place[inside]
            refs += [
                bagged(every[MIDDLE], self.middle, middles, inside_cuts, moment.bagging),
                every[LAST].refs[pool.place[at]],
            ]
            if len(at):
                start = np.minimum(start, np.minimum.reduceat(pool.start[first], first_cuts[:-1]))
        else:
            refs.append(every[MIDDLE].refs[pool.place[at]])
        return occurrences(pool.key[at], start, pool.end[at], pool.seq[at], np.hstack(refs))

    def trim(self, held: HeldOccurrences, watermark: int) -> HeldOccurrences:
        """Drop windows that were replaced or are too old, and middles in none of them."""
        return trimmed_windows(held, watermark, self.bounds, self.mode, at_once=self.at_once)


def trimmed_windows(
    held: HeldOccurrences, watermark: int, bounds: OccurrenceBounds, mode: Mode, *, at_once: bool
) -> HeldOccurrences:
    """Return what is held without windows that can take part in nothing any more."""
    firsts, *inside = (by_key(part) for part in held.parts)
    there = len(firsts)
    firsts = capped(firsts, bounds.cap)
    dropped = held.dropped + there - len(firsts)
    firsts = unexpired(firsts, bounds, watermark)
    if mode in {Mode.RECENT, Mode.RECENT_UNIQUE} and at_once:
        firsts = replacing(firsts, bounds.within)
    kept = [_in_windows(part, firsts, bounds) for part in inside]
    return HeldOccurrences((firsts, *kept), dropped, len(firsts) + sum(len(part) for part in kept))


def _in_windows(middles: Batch, firsts: Batch, bounds: OccurrenceBounds) -> Batch:
    if not len(middles):
        return middles
    oldest = np.full(key_count(firsts, middles), np.iinfo(np.int64).max)
    np.minimum.at(oldest, firsts.key, firsts.end)
    return useful(middles, bounds.since(middles) > oldest[middles.key], bounds.cap)


def firsts_left(pool: Pool, firsts: Batch, windows: OpenWindows) -> Batch:
    """Return the firsts of the pool whose windows are still open."""
    rows = pool.of_part(FIRST)
    left = np.ones(len(pool), np.bool_)
    left[np.array(windows.gone, np.int64)] = False
    marks = firsts.mark.copy()
    marks[pool.place[rows]] = np.array(windows.used, np.int64)[rows]
    return firsts.marked(marks).take(pool.place[rows[left[rows]]])


def _gone_through(pool: Pool, windows: OpenWindows, all_at_last: bool) -> tuple[Found, list[int]]:
    """Return what was found, and the middles that are left, of all keys."""
    found, left = Found(), list[int]()
    middles: list[int] = []
    key = None
    columns = (pool.key.tolist(), pool.part.tolist(), pool.new.tolist())
    for at, (now, part, new) in enumerate(zip(*columns, strict=True)):
        if now != key:
            key, windows.open = now, []
            left += middles
            middles = []
        if part == FIRST and new:
            windows.opened(at)
        elif part == FIRST:
            windows.open.append(at)
        elif part == MIDDLE and not new:
            middles.append(at)
        elif part == MIDDLE and all_at_last and at in windows.spent:
            continue
        elif part == MIDDLE and all_at_last:
            _gather(windows, middles, at)
        elif part == MIDDLE:
            for group in windows.chosen(windows.preceding(at)):
                found.add(at, group, [])
        elif all_at_last:
            middles = _at_last(windows, found, middles, at)
        else:
            windows.closed(at)
    return found, left + middles


def _gather(windows: OpenWindows, middles: list[int], at: int) -> None:
    if not windows.preceding(at):
        return
    middles.append(at)
    cap = windows.bounds.cap
    if cap is not None and len(middles) > cap:
        middles.pop(0)
        windows.dropped += 1


def _at_last(windows: OpenWindows, found: Found, middles: list[int], at: int) -> list[int]:
    since = windows.since[at]
    consumed: set[int] = set()
    used: set[int] = set()
    for group in windows.chosen(windows.closed(at)):
        opened = min(windows.end[each] for each in group)
        inside = [
            each for each in middles if windows.since[each] > opened and windows.end[each] < since
        ]
        if inside:
            found.add(at, group, inside)
            consumed.update(inside)
            used |= {*group, *inside, at}
    windows.use_up(used)
    middles = [each for each in middles if each not in windows.spent]
    if windows.mode in {Mode.CHRONICLE, Mode.CUMULATIVE} and consumed:
        return [each for each in middles if each not in consumed]
    return middles
