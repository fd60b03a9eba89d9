"""SEQ, and NOT, which is SEQ with a gap: a first, nothing in the middle, and a last.

What precedes a last is decided pair by pair, among those pairs the mode chooses: the candidates of
a last are the firsts that end before it begins, fit into the span with it, and have no middle
between.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.events.occurrences.batch import (
    Batch,
    by_key,
    joined,
    key_count,
    nothing,
    occurrences,
    share_rows,
    with_keys_of,
)
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.operators.operator import (
    HeldOccurrences,
    Slots,
    StepTime,
    bagged,
    capped,
    listed,
    offsets_of,
    replacing,
    unexpired,
    useful,
)
from penstock.events.operators.pairs import Pairs, pair_columns, starts_rise
from penstock.events.operators.pairs_by_row import pair_rows
from penstock.model.events import CONSUMING, Mode

NEWEST = (Mode.RECENT, Mode.RECENT_UNIQUE)
RISING = (*NEWEST, Mode.CHRONICLE)  # modes that look for one candidate at an end of their order


@dataclass(frozen=True, slots=True)
class Following:
    """First and last, or first, middle and last; `at_once`: the lasts begin when they end."""

    mode: Mode
    bounds: OccurrenceBounds
    first: Slots
    last: Slots
    at_once: bool
    middle: Slots | None = None

    @property
    def slots(self) -> Slots:
        """Return the constituents: the first's, as bags if they add up, and the last's."""
        return listed(self.first, self.mode is Mode.CUMULATIVE) + self.last

    @property
    def by_clock(self) -> bool:
        """Nothing occurs by itself."""
        return False

    def empty(self) -> HeldOccurrences:
        """Hold no firsts, and no middles."""
        return HeldOccurrences((nothing(len(self.first)), nothing(len(self.middle or ()))))

    def step(
        self, held: HeldOccurrences, new: Sequence[Batch], moment: StepTime
    ) -> tuple[Batch, HeldOccurrences]:
        """Pair the new lasts."""
        if not len(held.parts[0]) and not len(new[0]):
            return nothing(len(self.slots)), held
        first, *between, last = (each.spanning(self.bounds.within) for each in new)
        firsts, middles = joined([held.parts[0], first]), joined([held.parts[1], *between])
        if not len(last) or not len(firsts):
            left = HeldOccurrences((firsts, middles), held.dropped, held.trimmed)
            return nothing(len(self.slots)), self._settled(left, moment)
        asked = with_keys_of(firsts, [last])
        mine, others = by_key(firsts.take(asked)), firsts.take(~asked)
        known = with_keys_of(last, [mine])
        last = last if known.all() else last.take(known)
        pairs = self._pairs(mine, by_key(middles), last)
        rest = mine.marked(pairs.mark).take(pairs.left)
        left = HeldOccurrences(
            (joined([others, rest]), middles), held.dropped + pairs.dropped, held.trimmed
        )
        return self._made(mine, last, pairs, moment), self._settled(left, moment)

    def _pairs(self, firsts: Batch, middles: Batch, lasts: Batch) -> Pairs:
        bounds = self.bounds
        rises = bounds.within is None or self.mode not in RISING or starts_rise(firsts)
        alone = self.mode not in CONSUMING or not share_rows(firsts, lasts)
        pair = pair_columns if self.at_once and rises and alone else pair_rows
        return pair(self.mode, firsts, middles, lasts, bounds)

    def _made(self, firsts: Batch, lasts: Batch, pairs: Pairs, moment: StepTime) -> Batch:
        if self.mode is not Mode.CUMULATIVE:
            last, first = lasts.take(pairs.last), firsts.take(pairs.first)
            start = np.minimum(first.start, last.start)
            refs = np.hstack([first.refs, last.refs])
            return occurrences(last.key, start, last.end, last.seq, refs)
        chosen, owner = np.unique(pairs.last, return_inverse=True)
        last = lasts.take(chosen)
        offsets = offsets_of(owner, len(chosen))
        bags = bagged(firsts, self.first, pairs.first, offsets, moment.bagging)
        start = last.start
        if len(chosen):
            start = np.minimum(start, np.minimum.reduceat(firsts.start[pairs.first], offsets[:-1]))
        return occurrences(last.key, start, last.end, last.seq, np.hstack([bags, last.refs]))

    def _settled(self, held: HeldOccurrences, moment: StepTime) -> HeldOccurrences:
        due = held.is_due or len(held.parts[1]) > 0
        return self.trim(held, moment.watermark) if due else held

    def trim(self, held: HeldOccurrences, watermark: int) -> HeldOccurrences:
        """Drop firsts that were replaced, are too old, or are followed by a middle."""
        firsts, middles = by_key(held.parts[0]), held.parts[1]
        there = len(firsts)
        firsts = capped(firsts, self.bounds.cap)
        dropped = held.dropped + there - len(firsts)
        firsts = unexpired(firsts, self.bounds, watermark)
        if self.at_once:
            firsts, middles = self._unhindered(firsts, middles), middles.take(slice(0))
            if self.mode in NEWEST:
                firsts = replacing(firsts, self.bounds.within)
        else:
            middles = self._hindering(firsts, middles)
        return HeldOccurrences((firsts, middles), dropped, len(firsts) + len(middles))

    def _unhindered(self, firsts: Batch, middles: Batch) -> Batch:
        """Return the firsts without a middle after them: no last to come begins before these."""
        if not len(middles) or not len(firsts):
            return firsts
        floor = np.full(key_count(firsts, middles), np.iinfo(np.int64).min)
        np.maximum.at(floor, middles.key, self.bounds.since(middles))
        return useful(firsts, firsts.end >= floor[firsts.key], self.bounds.cap)

    def _hindering(self, firsts: Batch, middles: Batch) -> Batch:
        """Return the middles that come after some first."""
        if not len(middles) or not len(firsts):
            return middles.take(slice(0))
        since = self.bounds.since(middles)
        oldest = np.full(key_count(firsts, middles), np.iinfo(np.int64).max)
        np.minimum.at(oldest, firsts.key, firsts.end)
        return middles.take(since > oldest[middles.key])
