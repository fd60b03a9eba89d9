"""Allocation (ANA-17): whose tuples are dropped, so that a load is released at the least error.

Each query's tuples of a stream are a *claim*. A part of the work can be left out only for a tuple
that none of its claims wants, so that parts release, for shares y that claims give up,

    Σ load(part) · min(y of its claims)

and what is lost is Σ weight · y. The place weight of a part (ANA-15, ε weighted) is what is
released by a drop before it, over the weight of all that this drops for. The greatest one is raised
until a claim's limit, or the level of others that share with it, is reached: the fractional
knapsack, where parts that claims share are counted once and only for all of them. What is released
is concave and supermodular in y, so the order is right and nothing has to be taken back.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)

NOTHING = 1e-12  # shares and loads below it are none


@dataclass(frozen=True, slots=True)
class Part(Generic[C]):
    """A share of the work that some claims need, while nothing is dropped."""

    load: float
    claims: frozenset[C]


@dataclass(frozen=True, slots=True)
class Limit:
    """How much a claim may give up, and what it is worth."""

    most: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Allocation(Generic[C]):
    """What each claim gives up, what that releases, and what is still to be released."""

    shed: Mapping[C, float]
    released: float
    short: float


def allocate(parts: Sequence[Part[C]], limits: Mapping[C, Limit], release: float) -> Allocation[C]:
    """Return the least weighted error that releases a load, or the most that limits allow."""
    claims = sorted(limits, key=repr)
    place = {claim: number for number, claim in enumerate(claims)}
    works = _works(parts, place)
    levels = [0.0] * len(claims)
    left = release
    while left > NOTHING:
        bids = _bids(works, levels)
        best, density = 0, 0.0
        for mask, load in bids.items():
            members = _members(mask)
            if any(limits[claims[n]].most - levels[n] <= NOTHING for n in members):
                continue
            worth = load / sum(limits[claims[n]].weight for n in members)
            if worth > density:
                best, density = mask, worth
        if not best:
            break
        raised = _members(best)
        room = min(limits[claims[n]].most - levels[n] for n in raised)
        step = min(room, _next_level(works, levels, best), left / bids[best])
        for n in raised:
            levels[n] += step
        left -= step * bids[best]
    return Allocation(dict(zip(claims, levels, strict=True)), release - left, max(0.0, left))


def released(parts: Sequence[Part[C]], shed: Mapping[C, float]) -> float:
    """Return the load that is not there while claims give up these shares."""
    return sum(part.load * min(shed[claim] for claim in part.claims) for part in parts)


def _works(parts: Sequence[Part[C]], place: Mapping[C, int]) -> dict[int, float]:
    """Return the load that each set of claims needs together, sets as bits."""
    found: dict[int, float] = {}
    for part in parts:
        if part.load > 0 and part.claims:
            mask = sum(1 << place[claim] for claim in part.claims)
            found[mask] = found.get(mask, 0.0) + part.load
    return found


def _bids(works: Mapping[int, float], levels: Sequence[float]) -> dict[int, float]:
    """Return what is released if those who hold a part back are raised together."""
    holding: dict[int, float] = {}
    for mask, load in works.items():
        held = _lowest(mask, levels)
        holding[held] = holding.get(held, 0.0) + load
    return {
        mask: load
        if mask & (mask - 1) == 0  # a single one contains no other
        else sum(each for inner, each in holding.items() if inner & ~mask == 0)
        for mask, load in holding.items()
    }


def _lowest(mask: int, levels: Sequence[float]) -> int:
    members = _members(mask)
    least = min(levels[n] for n in members) + NOTHING
    return sum(1 << n for n in members if levels[n] <= least)


def _next_level(works: Mapping[int, float], levels: Sequence[float], raised: int) -> float:
    """Return how far claims can rise until others with which they share a part hold it back."""
    inside = _members(raised)
    level = levels[inside[0]]
    above = [
        levels[n] - level
        for mask in works
        if mask & raised
        for n in _members(mask & ~raised)
        if levels[n] > level + NOTHING
    ]
    return min(above, default=1.0)


def _members(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
