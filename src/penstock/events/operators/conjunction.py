"""AND and ANY: so many of the parts have occurred, in any order.

Occurrences arrive by end, then sequence, then part. Each one that arrives meets those of the other
parts that are held and fit into the span with it; the mode says which of them it completes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.events.occurrences.batch import (
    Batch,
    Ints,
    by_key,
    in_order,
    joined,
    nothing,
    occurrences,
    with_keys_of,
)
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.occurrences.pool import Pool, pooled
from penstock.events.operators.completions import (
    ABSENT,
    Meetings,
    meet_every,
    meet_newest,
    starts_rise_in_parts,
)
from penstock.events.operators.completions_by_row import meet_rows
from penstock.events.operators.completions_of_pairs import meet_all, meet_oldest
from penstock.events.operators.operator import (
    HeldOccurrences,
    Slots,
    StepTime,
    bagged,
    capped,
    listed,
    referred,
    replacing,
    unexpired,
)
from penstock.model.events import Mode

PAIR = 2


@dataclass(frozen=True, slots=True)
class Conjunction:
    """`count` of the parts."""

    mode: Mode
    bounds: OccurrenceBounds
    count: int
    parts: tuple[Slots, ...]

    @property
    def slots(self) -> Slots:
        """Return the constituents of all parts, as bags if they add up."""
        every = tuple(slot for part in self.parts for slot in part)
        return listed(every, self.mode is Mode.CUMULATIVE)

    @property
    def by_clock(self) -> bool:
        """Nothing occurs by itself."""
        return False

    def empty(self) -> HeldOccurrences:
        """Hold nothing of any part."""
        return HeldOccurrences(tuple(nothing(len(part)) for part in self.parts))

    def step(
        self, held: HeldOccurrences, new: Sequence[Batch], moment: StepTime
    ) -> tuple[Batch, HeldOccurrences]:
        """Combine the new occurrences with those held."""
        new = [each.spanning(self.bounds.within) for each in new]
        if not any(len(each) for each in new):
            settled = self.trim(held, moment.watermark) if held.is_due else held
            return nothing(len(self.slots)), settled
        asked = [with_keys_of(part, new) for part in held.parts]
        mine = [part.take(at) for part, at in zip(held.parts, asked, strict=True)]
        pool, every = pooled(mine, new)
        met = self._met(pool)
        left = [
            joined([part.take(~at), _rest(each, pool, met, number)])
            for number, (part, at, each) in enumerate(zip(held.parts, asked, every, strict=True))
        ]
        rest = HeldOccurrences(tuple(left), held.dropped + met.dropped, held.trimmed)
        if rest.is_due:
            rest = self.trim(rest, moment.watermark)
        return in_order(self._made(every, pool, met, moment)), rest

    def _met(self, pool: Pool) -> Meetings:
        size = len(self.parts)
        if self.mode is Mode.UNRESTRICTED:
            return meet_every(pool, size, self.count, self.bounds)
        plain = self.bounds.within is None or starts_rise_in_parts(pool, size)
        if self.mode is Mode.RECENT and plain:
            return meet_newest(pool, size, self.count, self.bounds)
        paired = size == PAIR and plain and self.mode in {Mode.CHRONICLE, Mode.CONTINUOUS}
        if paired and not pool.twins():
            meet = meet_oldest if self.mode is Mode.CHRONICLE else meet_all
            return meet(pool, self.bounds)
        return meet_rows(self.mode, pool, size, self.count, self.bounds)

    def _made(self, every: list[Batch], pool: Pool, met: Meetings, moment: StepTime) -> Batch:
        found = len(met.at)
        refs = []
        for number, (part, slots) in enumerate(zip(every, self.parts, strict=True)):
            mine = pool.part[met.members] == number
            owner, place = met.owner[mine], pool.place[met.members[mine]]
            if self.mode is Mode.CUMULATIVE:
                offsets = np.searchsorted(owner, np.arange(found + 1))
                refs.append(bagged(part, slots, place, offsets, moment.bagging))
            else:
                at = np.full(found, ABSENT)
                at[owner] = place
                refs.append(referred(part, at))
        start = np.full(found, np.iinfo(np.int64).max)
        np.minimum.at(start, met.owner, pool.start[met.members])
        at = met.at
        return occurrences(pool.key[at], start, pool.end[at], pool.seq[at], np.hstack(refs))

    def trim(self, held: HeldOccurrences, watermark: int) -> HeldOccurrences:
        """Drop what was replaced, is too old, or is beyond the cap."""
        dropped, parts = held.dropped, []
        for part in held.parts:
            kept = capped(by_key(part), self.bounds.cap)
            dropped += len(part) - len(kept)
            kept = unexpired(kept, self.bounds, watermark)
            if self.mode in {Mode.RECENT, Mode.RECENT_UNIQUE}:
                kept = replacing(kept, self.bounds.within)
            parts.append(kept)
        return HeldOccurrences(tuple(parts), dropped, sum(len(part) for part in parts))


def _rest(part: Batch, pool: Pool, met: Meetings, number: int) -> Batch:
    at = pool.of_part(number)
    place = pool.place[at]
    marks: Ints = part.mark.copy()
    marks[place] = met.mark[at]
    left = at[met.left[at]]
    return part.marked(marks).take(pool.place[left])
