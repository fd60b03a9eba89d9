"""The memory that all joins without windows may take together, and the share of each."""

import threading
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from penstock.qos.joins.shares import fair_shares


@dataclass(frozen=True, slots=True)
class Wanted:
    """The bytes that a join's tuples would take in memory; `is_fixed` if none may go to disk."""

    size: float
    is_fixed: bool


@dataclass(slots=True)
class JoinMemory:
    """Grants each join a share of `most` bytes; None is no bound.

    A join that has no use for its share yet leaves it to the others, and gets it when it asks.
    """

    most: int | None = None
    _wanted: WeakKeyDictionary[object, Wanted] = field(default_factory=WeakKeyDictionary)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def share(self, join: object, wanted: Wanted) -> float | None:
        """Return what a join may take that wants so much now; None where nothing bounds it.

        It counts for as long as it lives.
        """
        with self._lock:
            self._wanted[join] = wanted
            if self.most is None or wanted.is_fixed:
                return None
            fixed = sum(each.size for each in self._wanted.values() if each.is_fixed)
            others = {at: each for at, each in self._wanted.items() if not each.is_fixed}
            shares = fair_shares(self.most - fixed, [each.size for each in others.values()])
            return dict(zip(others, shares, strict=True))[join]
