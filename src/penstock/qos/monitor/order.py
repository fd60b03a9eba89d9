"""Order: how far a stream is from sorted, and one stream from another (TIME-03, -05, -06, -13).

The scrambling factor is exact and online: a tuple at position p whose key was reached, or passed,
first at position q is p − q out of place, and q is found among the positions at which the greatest
key so far rose. Those are few, and only the latest few times the factor are kept.

Nothing that comes later is more than the factor k out of place. So with n tuples all keys to come
are above the greatest of the first n − k (`passed`), and the n − k least keys seen are those with
which the stream would begin if it were sorted.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.int64]

LEAST_HISTORY = 4096  # tuples
TIMES = 4  # the scrambling factor: what is further behind is counted as that far
MOST_RECENT = 1 << 16  # keys: a lag beyond it is told as that

_NO_KEYS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """How many tuples there were, where the greatest key rose, how often recent keys came.

    `factor` is the scrambling factor, 0 where every key is above all before it; `multiplicity` how
    often a key came at most. `history` is how many tuples it looks back at least.
    """

    tuples: int = 0
    factor: int = 0
    multiplicity: int = 0
    rises: Keys = field(default_factory=lambda: _NO_KEYS)
    rose_at: Keys = field(default_factory=lambda: _NO_KEYS)
    recent: Keys = field(default_factory=lambda: _NO_KEYS)
    counts: Keys = field(default_factory=lambda: _NO_KEYS)
    last_at: Keys = field(default_factory=lambda: _NO_KEYS)
    history: int = LEAST_HISTORY

    def add(self, keys: Keys) -> "Order":
        """Return the order with one more train."""
        if not len(keys):
            return self
        at = self.tuples + np.arange(len(keys))
        rises, rose_at = self._risen(keys, at)
        reached = rose_at[np.searchsorted(rises, keys, side="left")]
        factor = max(self.factor, int((at - reached).max()))
        total = self.tuples + len(keys)
        oldest = total - max(self.history, TIMES * factor)
        kept = rose_at >= oldest
        kept[max(0, int(np.count_nonzero(~kept)) - 1)] = True  # what was greatest before
        recent, counts, last_at = self._counted(keys, at)
        multiplicity = max(self.multiplicity, int(counts.max()))
        young = last_at >= oldest
        return Order(
            total,
            factor,
            multiplicity,
            rises[kept],
            rose_at[kept],
            recent[young],
            counts[young],
            last_at[young],
            self.history,
        )

    def out_of_place(self, keys: Keys) -> Keys:
        """Return by how many positions each of the next keys is out of place."""
        at = self.tuples + np.arange(len(keys))
        rises, rose_at = self._risen(keys, at)
        return at - rose_at[np.searchsorted(rises, keys, side="left")]

    def passed(self, factor: int) -> int | None:
        """Return what all keys to come are above, if none will be further out of place."""
        known = int(np.searchsorted(self.rose_at, self.tuples - factor, side="left"))
        return int(self.rises[known - 1]) if known else None

    @property
    def high(self) -> int | None:
        """Return the greatest key so far."""
        return int(self.rises[-1]) if len(self.rises) else None

    def lag_to(self, other: "Order") -> int:
        """Return how many tuples this stream is ahead of another (Def 3.2.6).

        The definition asks which key stands at the other's latest position once it is sorted. That
        is known up to its factor; from there on, keys are taken to be as dense as up to there.
        """
        settled = other._settled()
        if settled is None:
            return min(self.tuples, MOST_RECENT)
        ahead = int(self.counts[self.recent > settled].sum()) + self._forgotten_above(settled)
        return max(0, round(ahead - other.factor * self._density(other, settled)))

    def _forgotten_above(self, key: int) -> int:
        """Return about how many tuples had keys above one, and below all recent ones.

        They are taken to be as dense as the recent ones.
        """
        if not len(self.recent) or key >= int(self.recent[0]):
            return 0
        known, (first, last) = int(self.counts.sum()), map(int, self.recent[[0, -1]])
        return min(self.tuples - known, (first - key - 1) * known // (last - first + 1))

    def _settled(self) -> int | None:
        """Return the greatest key whose position in the sorted stream is known."""
        from_top = np.cumsum(self.counts[::-1])
        place = int(np.searchsorted(from_top, self.factor, side="right"))
        return int(self.recent[::-1][place]) if place < len(from_top) else None

    def _density(self, other: "Order", until: int) -> float:
        """Return how many tuples this has for one of another, over recent keys of both."""
        if not (len(self.recent) and len(other.recent)):
            return 1.0
        since = max(int(self.recent[0]), int(other.recent[0]))
        mine, its = (
            int(each.counts[(each.recent >= since) & (each.recent <= until)].sum())
            for each in (self, other)
        )
        return mine / its if mine and its else 1.0

    def _risen(self, keys: Keys, at: Keys) -> tuple[Keys, Keys]:
        """Return where the greatest key rose, these keys included."""
        before = self.rises[-1:] if len(self.rises) else np.array([np.iinfo(np.int64).min])
        greatest = np.maximum.accumulate(np.concatenate([before, keys]))
        new = keys > greatest[:-1]
        if not len(self.rises) and len(keys):
            new[0] = True
        return np.concatenate([self.rises, keys[new]]), np.concatenate([self.rose_at, at[new]])

    def _counted(self, keys: Keys, at: Keys) -> tuple[Keys, Keys, Keys]:
        """Return the recent keys in order, how often each came, and where it came last."""
        both = np.concatenate([self.recent, keys])
        many = np.concatenate([self.counts, np.ones(len(keys), dtype=np.int64)])
        where = np.concatenate([self.last_at, at])
        order = np.argsort(both, kind="stable")
        both = both[order]
        starts = np.flatnonzero(np.concatenate([[True], both[1:] != both[:-1]]))
        return (
            both[starts],
            np.add.reduceat(many[order], starts),
            np.maximum.reduceat(where[order], starts),
        )
