"""Order: how far a stream is from sorted, and one stream from another (TIME-03, -05, -06, -13).

The scrambling factor is exact and online: a tuple at position p whose key was reached, or passed,
first at position q is p − q out of place, and q is found among the positions at which the greatest
key so far rose. Those are few, and only the latest few times the factor are kept.
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
    often a key came at most.
    """

    tuples: int = 0
    factor: int = 0
    multiplicity: int = 0
    rises: Keys = field(default_factory=lambda: _NO_KEYS)
    rose_at: Keys = field(default_factory=lambda: _NO_KEYS)
    recent: Keys = field(default_factory=lambda: _NO_KEYS)
    counts: Keys = field(default_factory=lambda: _NO_KEYS)
    last_at: Keys = field(default_factory=lambda: _NO_KEYS)

    def add(self, keys: Keys) -> "Order":
        """Return the order with one more train."""
        if not len(keys):
            return self
        at = self.tuples + np.arange(len(keys))
        before = self.rises[-1:] if len(self.rises) else np.array([np.iinfo(np.int64).min])
        greatest = np.maximum.accumulate(np.concatenate([before, keys]))
        new = keys > greatest[:-1]
        if not len(self.rises):
            new[0] = True
        rises = np.concatenate([self.rises, keys[new]])
        rose_at = np.concatenate([self.rose_at, at[new]])
        reached = rose_at[np.searchsorted(rises, keys, side="left")]
        factor = max(self.factor, int((at - reached).max()))
        total = self.tuples + len(keys)
        oldest = total - max(LEAST_HISTORY, TIMES * factor)
        kept = rose_at >= oldest
        kept[-1] = True
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
        )

    @property
    def high(self) -> int | None:
        """Return the greatest key so far."""
        return int(self.rises[-1]) if len(self.rises) else None

    def lag_to(self, other: "Order") -> int:
        """Return how many tuples this stream is ahead of another (3.2), among recent ones."""
        if other.high is None:
            return min(self.tuples, MOST_RECENT)
        return int(self.counts[self.recent > other.high].sum())

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
