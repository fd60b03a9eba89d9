"""Regrouping: lots of predicates that members have left are laid together, where it costs less.

Every lot is a grouping of all tuples, and its partials are carried, kept, and looked at by each
of its members at every close. How many partials come of a tuple is measured; two lots together
tell tuples apart more finely than each of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.plan.operators.bundles.member import Section

A_LOT = (
    48  # predicate bits that tell tuples apart at once: more make nearly as many partials as tuples
)
A_PARTIAL = 3  # costs as much as grouping so many tuples: it is carried, kept and looked at


@dataclass(frozen=True, slots=True)
class Lot:
    """Members in one lot of a section; `partials` came of `tuples` in the runs of late."""

    section: Section
    members: tuple[str, ...]
    tuples: float
    partials: float

    @property
    def cost(self) -> float:
        """Return what a tuple costs, a grouping being one."""
        return 1 + A_PARTIAL * self.partials / self.tuples if self.tuples else 1.0

    def with_other(self, other: "Lot") -> "Lot":
        """Return what both would be as one: tuples fall at random into pairs of their partials."""
        pairs = max(self.partials, 1.0) * max(other.partials, 1.0)
        tuples = max(self.tuples, other.tuples)
        partials = pairs * -math.expm1(-tuples / pairs)
        return Lot(self.section, (*self.members, *other.members), tuples, partials)


def regrouped(lots: Sequence[Lot]) -> dict[str, int]:
    """Return the lot of every member that should be in another one than it is."""
    moved: dict[str, int] = {}
    families: dict[Section, list[Lot]] = {}
    for lot in lots:
        families.setdefault(replace(lot.section, lot=0), []).append(lot)
    for family in families.values():
        left = sorted(family, key=lambda lot: len(lot.members))
        while len(left) > 1:
            fewest = left.pop(0)
            into = next((each for each in left if _pays(fewest, each)), None)
            if into is not None:
                moved |= dict.fromkeys(fewest.members, into.section.lot)
                left[left.index(into)] = into.with_other(fewest)
    return moved


def _pays(one: Lot, other: Lot) -> bool:
    fits = len(one.members) + len(other.members) <= A_LOT
    return fits and other.with_other(one).cost < one.cost + other.cost
