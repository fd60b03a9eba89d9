"""OR: an occurrence of any part is one of the whole."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.events.occurrences.batch import NONE, Batch, in_order, joined, nothing
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.operators.operator import HeldOccurrences, Slots, StepTime


@dataclass(frozen=True, slots=True)
class Either:
    """Any of the parts, with the constituents of the others left out."""

    bounds: OccurrenceBounds
    parts: tuple[Slots, ...]

    @property
    def slots(self) -> Slots:
        """Return the constituents of all parts."""
        return tuple(slot for part in self.parts for slot in part)

    @property
    def by_clock(self) -> bool:
        """Nothing occurs by itself."""
        return False

    def empty(self) -> HeldOccurrences:
        """Hold nothing, ever."""
        return HeldOccurrences(())

    def step(
        self, held: HeldOccurrences, new: Sequence[Batch], moment: StepTime
    ) -> tuple[Batch, HeldOccurrences]:
        """Put the parts' occurrences in order."""
        found = [nothing(len(self.slots))]
        before = 0
        for part, slots in zip(new, self.parts, strict=True):
            refs = np.full((len(part), len(self.slots)), NONE)
            refs[:, before : before + len(slots)] = part.refs
            before += len(slots)
            found.append(
                Batch(part.key, part.start, part.end, part.seq, refs, np.zeros_like(part.key))
            )
        return in_order(joined(found)).spanning(self.bounds.within), held

    def trim(self, held: HeldOccurrences, watermark: int) -> HeldOccurrences:
        """There is nothing to let go of."""
        return held
