"""P and P*: ticks in the windows that a first opens and a last closes.

Ticks are not kept: a window's are its first's end plus multiples of the period. A tick at the
instant of a last that closes the window no longer occurs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.events.occurrences.batch import (
    Batch,
    Ints,
    in_order,
    joined,
    nothing,
    occurrences,
    with_keys_of,
)
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.occurrences.pool import Pool, pooled
from penstock.events.operators.aperiodic import firsts_left, trimmed_windows
from penstock.events.operators.open_windows import Found, OpenWindows, windows_of
from penstock.events.operators.operator import (
    ConstituentSlot,
    HeldOccurrences,
    Slots,
    StepTime,
    bagged,
    flat,
    listed,
)
from penstock.model.events import Mode

FIRST, LAST = 0, 1
CLOSE_THEN_OPEN = (1, 0)  # at one instant: lasts, firsts


@dataclass(frozen=True, slots=True)
class Periodically:
    """One by one, or `all_at_last`; `at_once`: the lasts do not last."""

    mode: Mode
    bounds: OccurrenceBounds
    every: int
    first: Slots
    last: Slots
    at_once: bool
    all_at_last: bool

    @property
    def slots(self) -> Slots:
        """Return the constituents of the windows' firsts, the ticks, and in P* of the last."""
        first = listed(self.first, self.mode is Mode.CUMULATIVE)
        ticks = (ConstituentSlot("", plural=self.all_at_last),)
        return first + ticks + (self.last if self.all_at_last else ())

    @property
    def by_clock(self) -> bool:
        """Ticks come by the clock."""
        return True

    def empty(self) -> HeldOccurrences:
        """Hold no firsts."""
        return HeldOccurrences((nothing(len(self.first)),))

    def step(
        self, held: HeldOccurrences, new: Sequence[Batch], moment: StepTime
    ) -> tuple[Batch, HeldOccurrences]:
        """Go through the windows of those keys for which something is new or a tick is due."""
        new = [each.spanning(self.bounds.within) for each in new]
        firsts = held.parts[FIRST]
        due = firsts.take(self._is_due(firsts, moment))
        if not len(due) and not any(len(each) for each in new):
            settled = self.trim(held, moment.watermark) if held.is_due else held
            return nothing(len(self.slots)), settled
        asked = with_keys_of(firsts, [*new, due])
        none = nothing(len(self.last))
        pool, every = pooled([firsts.take(asked), none], new, CLOSE_THEN_OPEN)
        windows = windows_of(pool, self.mode, self.bounds, self.at_once)
        found = self._gone_through(pool, windows, moment)
        left = joined([firsts.take(~asked), firsts_left(pool, every[FIRST], windows)])
        rest = HeldOccurrences((left,), held.dropped + windows.dropped, held.trimmed)
        rest = self.trim(rest, moment.watermark) if rest.is_due else rest
        return in_order(self._made(pool, every, found, moment)), rest

    def _is_due(self, firsts: Batch, moment: StepTime) -> Ints:
        if self.all_at_last:
            return np.empty(0, np.int64)
        passed = np.maximum(-(-(moment.since - firsts.end) // self.every), 1)
        return np.flatnonzero(firsts.end + passed * self.every < moment.until)

    def _gone_through(self, pool: Pool, windows: OpenWindows, moment: StepTime) -> Found:
        found = Found()
        key, since = None, moment.since
        columns = (pool.key.tolist(), pool.part.tolist(), pool.new.tolist())
        for at, (now, part, new) in enumerate(zip(*columns, strict=True)):
            if now != key:
                self._tick(windows, found, since, moment.until)
                key, since, windows.open = now, moment.since, []
            if not new:
                windows.open.append(at)
                continue
            until = min(windows.end[at] + (1 if part == FIRST else 0), moment.until)
            self._tick(windows, found, since, until)
            since = max(since, until)
            if part == FIRST:
                windows.opened(at)
            else:
                self._close(windows, found, at)
        self._tick(windows, found, since, moment.until)
        return found

    def _close(self, windows: OpenWindows, found: Found, at: int) -> None:
        closed = windows.closed(at)
        if not self.all_at_last:
            return
        for group in windows.chosen(closed):
            begin = windows.end[group[0]]
            ticks = list(range(begin + self.every, windows.since[at], self.every))
            if ticks:
                found.add(at, group, ticks)
                windows.use_up((*group, at))

    def _tick(self, windows: OpenWindows, found: Found, since: int, until: int) -> None:
        """Add the ticks from `since` to before `until`."""
        if self.all_at_last or not windows.open or since >= until:
            return
        ticks = sorted(
            (tick, place)
            for place, low, high in self._ticking(windows, since, until)
            for tick in self._ticks(windows, place, low, high)
        )
        for tick, place in ticks:
            group = [place]
            if self.mode is Mode.CUMULATIVE:
                within = self.bounds.within
                group = [
                    each
                    for each in windows.open
                    if within is None or tick - windows.start[each] <= within
                ]
            found.add(place, group, [tick])

    def _ticks(self, windows: OpenWindows, place: int, low: int, high: int) -> Sequence[int]:
        end = windows.end[place]
        passed = max(-(-(low - end) // self.every), 1)
        ticks = range(end + passed * self.every, high, self.every)
        if self.mode is not Mode.RECENT_UNIQUE:
            return ticks
        if windows.used[place] or not ticks:
            return ()
        windows.used[place] = 1
        return ticks[:1]

    def _ticking(
        self, windows: OpenWindows, since: int, until: int
    ) -> Iterator[tuple[int, int, int]]:
        """Yield the windows that tick, each with the span in which the mode lets it."""
        one = self.mode not in {Mode.UNRESTRICTED, Mode.CONTINUOUS}
        newest = self.mode in {Mode.RECENT, Mode.RECENT_UNIQUE}
        for place in reversed(windows.open) if newest else windows.open:
            if self.bounds.within is None:
                yield place, since, until
                if one:
                    return
                continue
            high = min(until, windows.start[place] + self.bounds.within + 1)
            if since < high:
                yield place, since, high
                since = high if one else since

    def _made(self, pool: Pool, every: list[Batch], found: Found, moment: StepTime) -> Batch:
        at = np.array(found.at, np.int64)
        (first, first_cuts), (ticks, cuts) = flat(found.firsts), flat(found.inside)
        refs = [
            every[FIRST].refs[pool.place[first]]
            if self.mode is not Mode.CUMULATIVE
            else bagged(every[FIRST], self.first, pool.place[first], first_cuts, moment.bagging)
        ]
        if not self.all_at_last:
            refs.append(ticks[:, None])
            return occurrences(pool.key[at], ticks, ticks, pool.seq[at], np.hstack(refs))
        refs += [
            moment.bagging.bag(ticks, False, cuts)[:, None],
            every[LAST].refs[pool.place[at]],
        ]
        start = pool.start[at]
        if len(at):
            start = np.minimum(start, np.minimum.reduceat(pool.start[first], first_cuts[:-1]))
        return occurrences(pool.key[at], start, pool.end[at], pool.seq[at], np.hstack(refs))

    def trim(self, held: HeldOccurrences, watermark: int) -> HeldOccurrences:
        """Drop windows that were replaced or are too old."""
        return trimmed_windows(held, watermark, self.bounds, self.mode, at_once=self.at_once)
