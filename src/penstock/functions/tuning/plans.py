"""Plans: how one function may be spread (GSDM-31, 32, 61, 62).

A plan is a strategy and its fans from the outside in: `split 4` is one level of four branches,
`split 2x2` a tree of two levels, each of two.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import prod


class SpreadStrategy(StrEnum):
    """What goes to a branch: everything, every so many windows, or a part of each."""

    CENTRAL = "central"
    DISTRIBUTE = "distribute"
    SPLIT = "split"


@dataclass(frozen=True, slots=True)
class SpreadPlan:
    """A strategy, and the branches at each level of it."""

    strategy: SpreadStrategy = SpreadStrategy.CENTRAL
    fans: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Hold what makes no plan off: it would come from our own code."""
        if (self.strategy is SpreadStrategy.CENTRAL) != (not self.fans) or any(
            f < 1 for f in self.fans
        ):
            raise ValueError(f"{self.strategy} with branches {self.fans}")

    @property
    def degree(self) -> int:
        """Return how many sites compute."""
        return prod(self.fans)

    @property
    def sites(self) -> int:
        """Return how many sites there are: a branch's, and two for each place that fans out."""
        count = 1
        for fan in reversed(self.fans):
            count = fan * count + 2
        return count

    @property
    def name(self) -> str:
        """Return what people call it."""
        return " ".join([self.strategy, *(["x".join(map(str, self.fans))] if self.fans else [])])

    @classmethod
    def named(cls, name: str) -> "SpreadPlan":
        """Return the plan that people call so."""
        strategy, _, fans = name.partition(" ")
        return cls(SpreadStrategy(strategy), tuple(int(fan) for fan in fans.split("x") if fan))

    def inner(self) -> "SpreadPlan":
        """Return what each branch is."""
        return SpreadPlan(self.strategy, self.fans[1:]) if len(self.fans) > 1 else CENTRAL


CENTRAL = SpreadPlan()


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """Which plans there may be for a function: what its split divides, and how far to go.

    `divides(size, fan)` says whether the split can cut a window of that size into so many parts;
    None where the function has no split and combine.
    """

    most_degree: int
    most_sites: int | None = None
    divides: Callable[[int, int], bool] | None = None
    trees: bool = True


def candidates(limits: PlanLimits, size: int) -> tuple[SpreadPlan, ...]:
    """Return every plan for windows of that size, central first."""
    found = [CENTRAL]
    for strategy in (SpreadStrategy.DISTRIBUTE, SpreadStrategy.SPLIT):
        for degree in range(2, limits.most_degree + 1):
            plans = (SpreadPlan(strategy, fans) for fans in _fans(degree))
            found += [plan for plan in plans if _is_allowed(plan, limits, size)]
    return tuple(found)


def _is_allowed(plan: SpreadPlan, limits: PlanLimits, size: int) -> bool:
    if len(plan.fans) > 1 and not limits.trees:
        return False
    if limits.most_sites is not None and plan.sites > limits.most_sites:
        return False
    if plan.strategy is not SpreadStrategy.SPLIT:
        return True
    if limits.divides is None:
        return False
    for fan in plan.fans:
        if size % fan or not limits.divides(size, fan):
            return False
        size //= fan
    return True


def _fans(degree: int) -> Iterator[tuple[int, ...]]:
    """Return every way to write a degree as a product, the flat one first."""
    yield (degree,)
    for fan in range(2, degree):
        if degree % fan == 0:
            yield from ((fan, *rest) for rest in _fans(degree // fan))
