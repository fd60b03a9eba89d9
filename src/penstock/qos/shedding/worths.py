"""Worths: what tuples were worth of late, for the cut of a semantic gate."""

from dataclasses import dataclass, field

import numpy as np

from penstock.qos.shedding.gates import LEAST_KEEP, DropGate, Mask, Numbers, xxhash64
from penstock.qos.shedding.quantiles import Quantiles, Values
from penstock.qos.shedding.semantic import SemanticGate, semantic_gate

NEW_SHARE = 0.2  # of what a train tells about NULLs


@dataclass(frozen=True, slots=True)
class WorthCut:
    """What a run is recorded with: the worth below which tuples go, and the share kept at it."""

    worth: float
    ties: float


@dataclass(frozen=True, slots=True, eq=False)
class Worths:
    """Quantiles of what tuples were worth, and the share that was worth nothing."""

    seen: Quantiles = field(default_factory=Quantiles)
    nulls: float = 0.0
    trains: int = 0

    def add(self, worth: Values, now: float) -> "Worths":
        """Return them with a train's, NaN for NULL."""
        if not len(worth):
            return self
        share = float(np.isnan(worth).mean())
        nulls = share if not self.trains else self.nulls + NEW_SHARE * (share - self.nulls)
        return Worths(self.seen.add(worth, now), nulls, self.trains + 1)

    def cut(self, keep: float) -> WorthCut:
        """Return where to cut so that a share of tuples like these stays."""
        found = semantic_gate(self.seen, keep, 0, self.nulls)
        return WorthCut(found.cut, found.ties.keep)


def kept_by(cut: WorthCut, seed: int, least: float, worth: Values, *numbers: Numbers) -> Mask:
    """Say which of a run's tuples stay: those above the cut, but at least a share of them.

    The past may promise better tuples than have come; what a query allows to lose holds all the
    same, and then the best of those that are here stay.
    """
    passes = SemanticGate(cut.worth, DropGate(max(LEAST_KEEP, cut.ties), seed)).passes(
        worth, *numbers
    )
    needed = int(np.ceil(least * len(worth) - 1e-9))
    if np.count_nonzero(passes) >= needed:
        return passes
    hashed = xxhash64(np.full(len(worth), seed, dtype=np.int64), *numbers)
    order = np.lexsort((hashed, np.where(np.isnan(worth), -np.inf, worth)))
    found: Mask = np.zeros(len(worth), dtype=np.bool_)
    found[order[len(worth) - needed :]] = True
    return found
