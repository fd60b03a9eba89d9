"""PLUS: a tick so long after each occurrence, unless the mode lets a newer one replace it."""

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
)
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.operators.operator import (
    HeldOccurrences,
    Slots,
    StepTime,
    bagged,
    flat,
    listed,
)
from penstock.model.events import Mode


@dataclass(frozen=True, slots=True)
class Later:
    """`after` microseconds after the part. What is held is bounded by that time, never by a cap."""

    mode: Mode
    bounds: OccurrenceBounds
    after: int
    part: Slots

    @property
    def slots(self) -> Slots:
        """Return the part's constituents, as bags if they add up."""
        return listed(self.part, self.mode is Mode.CUMULATIVE)

    @property
    def by_clock(self) -> bool:
        """Ticks come by the clock."""
        return True

    def empty(self) -> HeldOccurrences:
        """Hold nothing that waits."""
        return HeldOccurrences((nothing(len(self.part)),))

    def step(
        self, held: HeldOccurrences, new: Sequence[Batch], moment: StepTime
    ) -> tuple[Batch, HeldOccurrences]:
        """Emit the ticks before the watermark."""
        fresh = new[0]
        if self.bounds.within is not None:
            fresh = fresh.spanning(self.bounds.within - self.after)
        waiting = by_key(joined([held.parts[0], fresh]))
        if not len(waiting) or int(waiting.end.min()) + self.after >= moment.watermark:
            settled = (
                self.trim(HeldOccurrences((waiting,)), moment.watermark) if len(fresh) else held
            )
            return nothing(len(self.slots)), settled
        if self.mode is Mode.CUMULATIVE:
            made, left = self._gathered(waiting, moment)
        else:
            waiting = self._unreplaced(waiting)
            due = waiting.end + self.after < moment.watermark
            ready, left = waiting.take(due), waiting.take(~due)
            tick = ready.end + self.after
            made = occurrences(ready.key, tick, tick, ready.seq, ready.refs)
        return in_order(made), HeldOccurrences((left,))

    def _unreplaced(self, waiting: Batch) -> Batch:
        if self.mode not in {Mode.RECENT, Mode.RECENT_UNIQUE}:
            return waiting
        replaced = np.zeros(len(waiting), np.bool_)
        same = waiting.key[1:] == waiting.key[:-1]
        replaced[:-1] = same & (waiting.end[1:] < waiting.end[:-1] + self.after)
        return waiting.take(~replaced)

    def _gathered(self, waiting: Batch, moment: StepTime) -> tuple[Batch, Batch]:
        groups: list[list[int]] = []
        key, tick = None, 0
        for at, (now, end) in enumerate(
            zip(waiting.key.tolist(), waiting.end.tolist(), strict=True)
        ):
            if now != key or end >= tick:
                key, tick = now, end + self.after
                groups.append([])
            groups[-1].append(at)
        ready = [group for group in groups if self._tick_of(waiting, group) < moment.watermark]
        members, cuts = flat(ready)
        oldest: Ints = members[cuts[:-1]]
        first = waiting.take(oldest)
        refs = bagged(waiting, self.part, members, cuts, moment.bagging)
        left = np.ones(len(waiting), np.bool_)
        left[members] = False
        tick_at = first.end + self.after
        return occurrences(first.key, tick_at, tick_at, first.seq, refs), waiting.take(left)

    def _tick_of(self, waiting: Batch, group: list[int]) -> int:
        return int(waiting.end[group[0]]) + self.after

    def trim(self, held: HeldOccurrences, watermark: int) -> HeldOccurrences:
        """Drop what was replaced; all else has still to tick."""
        return HeldOccurrences((self._unreplaced(by_key(held.parts[0])),))
