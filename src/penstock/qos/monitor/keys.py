"""Keys: about how many different ones there are, and how unequal they are, in little memory.

Flajolet's HyperLogLog for the number; Misra and Gries' counters, merged as Agarwal and others do,
for the most frequent. Arrow and Spark count distinct values of a column at hand; neither has a
sketch in the driver that is carried on from train to train (Spark's are aggregates of a job).
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from penstock.qos.shedding.gates import xxhash64

Codes = npt.NDArray[np.int64]

BITS = 11
REGISTERS = 1 << BITS  # an error of 2.3 % (1.04 / √2048)
COUNTERS = 64  # a frequency is told too low by at most 1/65 of all tuples
_RANK_BITS = 52  # that a float tells exactly


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """The registers of the one sketch and the counters of the other; both add up."""

    tuples: int = 0
    registers: npt.NDArray[np.uint8] = field(
        default_factory=lambda: np.zeros(REGISTERS, dtype=np.uint8)
    )
    frequent: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    counts: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def add(self, codes: Codes) -> "Keys":
        """Return the sketches with one more train."""
        if not len(codes):
            return self
        different, counts = np.unique(codes, return_counts=True)
        hashed = xxhash64(different).view(np.uint64)
        places = (hashed >> np.uint64(64 - BITS)).astype(np.int64)
        rest = (hashed << np.uint64(BITS)) >> np.uint64(64 - _RANK_BITS)
        ranks = (_RANK_BITS + 1 - np.frexp(rest.astype(np.float64))[1]).astype(np.uint8)
        registers = self.registers.copy()
        np.maximum.at(registers, places, ranks)
        fresh = Keys(len(codes), registers, different, counts.astype(np.int64))
        return self + fresh

    def __add__(self, other: "Keys") -> "Keys":
        """Return both as one."""
        codes = np.concatenate([self.frequent, other.frequent])
        different, places = np.unique(codes, return_inverse=True)
        counts = np.bincount(
            places, np.concatenate([self.counts, other.counts]), len(different)
        ).astype(np.int64)
        if len(counts) > COUNTERS:
            counts = counts - np.partition(counts, -COUNTERS - 1)[-COUNTERS - 1]
            different, counts = different[counts > 0], counts[counts > 0]
        return Keys(
            self.tuples + other.tuples,
            np.maximum(self.registers, other.registers),
            different,
            counts,
        )

    @property
    def cardinality(self) -> float:
        """Return about how many different keys there were."""
        empty = int((self.registers == 0).sum())
        raw = 0.7213 / (1 + 1.079 / REGISTERS) * REGISTERS**2
        raw /= float(np.exp2(-self.registers.astype(np.float64)).sum())
        if raw <= 2.5 * REGISTERS and empty:  # of the paper: then the empty ones tell more
            return REGISTERS * float(np.log(REGISTERS / empty))
        return raw

    @property
    def top_share(self) -> float:
        """Return the share of the most frequent key, too low by at most 1/65."""
        return float(self.counts.max(initial=0)) / self.tuples if self.tuples else 0.0

    @property
    def skew(self) -> float:
        """Return how many times as often as the mean key the most frequent one comes."""
        return max(1.0, self.top_share * self.cardinality)
