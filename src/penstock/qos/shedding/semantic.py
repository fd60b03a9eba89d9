"""Semantic drop gates (ANA-14): what is worth least goes first, by a cut from a running quantile.

NULL and NaN are worth less than any number. Tuples that are worth exactly the cut are told apart by
a random gate, so that the share that stays is right even where all are worth the same.
"""

import math
from dataclasses import dataclass

import numpy as np

from penstock.qos.shedding.gates import LEAST_KEEP, DropGate, Mask, Numbers
from penstock.qos.shedding.quantiles import Quantiles, Values


@dataclass(frozen=True, slots=True)
class SemanticGate:
    """Keeps what is worth more than the cut, and of what is worth the cut a share.

    A cut of minus infinity stands for all numbers: then only NULLs are dropped, by `ties`.
    """

    cut: float
    ties: DropGate

    def passes(self, worth: Values, *numbers: Numbers) -> Mask:
        """Say which tuples stay; NaN is a worth that is NULL."""
        filled = np.where(np.isnan(worth), -np.inf, worth)
        kept: Mask = (filled > self.cut) | ((filled == self.cut) & self.ties.passes(*numbers))
        return kept


def semantic_gate(seen: Quantiles, keep: float, seed: int, nulls: float = 0.0) -> SemanticGate:
    """Return the gate that keeps a share of tuples like those that were seen, the best of them.

    `nulls` is the share of tuples that have no worth.
    """
    keep = min(1.0, max(LEAST_KEEP, keep))
    numbers = 1.0 - nulls
    if not len(seen.values) or keep >= numbers:
        share = 1.0 if nulls <= 0 else (keep - numbers) / nulls if len(seen.values) else keep
        return SemanticGate(-math.inf, DropGate(min(1.0, max(LEAST_KEEP, share)), seed))
    cut = seen.at_share(1 - keep / numbers)
    below, equal = seen.shares_at(cut)
    above = (1 - below - equal) * numbers
    share = (keep - above) / (equal * numbers) if equal > 0 else 1.0
    return SemanticGate(cut, DropGate(min(1.0, max(LEAST_KEEP, share)), seed))
