"""Clustering with distance k (ANA-19): how often equal values stand close together.

Two successive tuples of one value are near each other if at most k others are between them; with
k = 0 they are neighbours. A stream is clustered where nearly all are near.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]

_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """Pairs of successive tuples of one value, and those of them that are near."""

    distance: int
    tuples: int = 0
    pairs: int = 0
    near: int = 0
    values: Codes = field(default_factory=lambda: _NONE)  # the last tuples', in order
    last_at: Codes = field(default_factory=lambda: _NONE)

    def add(self, codes: Codes) -> "Clustering":
        """Return the clustering with one more train.

        A pair that is further apart than k tuples and a train is not seen as a pair.
        """
        if not len(codes):
            return self
        at = self.tuples + np.arange(len(codes))
        values = np.concatenate([self.values, codes])
        where = np.concatenate([self.last_at, at])
        order = np.argsort(values, kind="stable")
        values, where = values[order], where[order]
        same = values[1:] == values[:-1]
        between = (where[1:] - where[:-1] - 1)[same]
        last = np.concatenate([~same, [True]])
        young = last & (where >= self.tuples + len(codes) - 1 - self.distance)
        return Clustering(
            self.distance,
            self.tuples + len(codes),
            self.pairs + int(same.sum()),
            self.near + int((between <= self.distance).sum()),
            values[young],
            where[young],
        )

    @property
    def share(self) -> float:
        """Return the share of pairs that are near; 1 where no value came twice."""
        return self.near / self.pairs if self.pairs else 1.0
