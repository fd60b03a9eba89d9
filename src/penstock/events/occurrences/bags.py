"""Lists of references under one number, for constituents that hold several occurrences."""

from dataclasses import dataclass, field

import numpy as np

from penstock.events.occurrences.batch import NONE, Ints, spread


@dataclass(frozen=True, slots=True)
class Bags:
    """Bags by rising number; bag i holds `values[offsets[i]:offsets[i + 1]]`."""

    ids: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    offsets: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    values: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def contents(self, ids: Ints) -> tuple[Ints, Ints]:
        """Return the contents of some bags as offsets and values; of no bag, nothing."""
        at = np.searchsorted(self.ids, ids)
        there = ids != NONE
        at = np.where(there, at, 0)
        low = np.where(there, self.offsets[at], 0)
        high = np.where(there, self.offsets[at + 1], 0) if len(self.ids) else low
        _, place = spread(low, high)
        return np.concatenate([[0], np.cumsum(high - low)]), self.values[place]

    def only(self, ids: Ints) -> "Bags":
        """Return just these bags."""
        kept = np.unique(ids[ids != NONE])
        return Bags(kept, *self.contents(kept))

    def with_bags(self, other: "Bags") -> "Bags":
        """Return these bags and some with higher numbers."""
        if not len(other.ids):
            return self
        return Bags(
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]]),
            np.concatenate([self.values, other.values]),
        )

    @property
    def next_id(self) -> int:
        """Return a number above every bag's."""
        return int(self.ids[-1]) + 1 if len(self.ids) else 0


class Bagging:
    """Makes bags during one step; what was there before stays as it was."""

    def __init__(self, bags: Bags) -> None:
        self.bags = bags

    def bag(self, refs: Ints, plural: bool, offsets: Ints) -> Ints:
        """Return bags of one constituent's references, cut at offsets; bags are poured out."""
        if plural:
            inner, refs = self.bags.contents(refs)
            offsets = inner[offsets]
        there = refs != NONE
        if not there.all():
            offsets = np.concatenate([[0], np.cumsum(there)])[offsets]
            refs = refs[there]
        ids = np.arange(len(offsets) - 1) + self.bags.next_id
        self.bags = self.bags.with_bags(Bags(ids, offsets, refs))
        return ids
