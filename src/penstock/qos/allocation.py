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

import numpy as np
import numpy.typing as npt

C = TypeVar("C", bound=Hashable)

NOTHING = 1e-12  # shares and loads below it are none

Claims = npt.NDArray[np.int64]  # by number
Shares = npt.NDArray[np.float64]  # by claim
Mask = npt.NDArray[np.bool_]


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
    work = _work(parts, {claim: number for number, claim in enumerate(claims)})
    most = np.array([limits[claim].most for claim in claims])
    weights = np.array([limits[claim].weight for claim in claims])
    levels = np.zeros(len(claims))
    left = release
    while left > NOTHING:
        raised, gain = _best(work, levels, weights, most - levels > NOTHING)
        if gain <= 0:
            break
        room = float((most - levels)[raised].min())
        step = min(room, _next_level(work, levels, raised), left / gain)
        levels[raised] += step
        left -= step * gain
    shed = dict(zip(claims, levels.tolist(), strict=True))
    return Allocation(shed, release - left, max(0.0, left))


def released(parts: Sequence[Part[C]], shed: Mapping[C, float]) -> float:
    """Return the load that is not there while claims give up these shares."""
    return sum(part.load * min(shed[claim] for claim in part.claims) for part in parts)


@dataclass(frozen=True, slots=True)
class _Work:
    """The load that each claim needs by itself, and that which several need together."""

    alone: npt.NDArray[np.float64]
    shared: tuple[tuple[Claims, float], ...]


def _work(parts: Sequence[Part[C]], place: Mapping[C, int]) -> _Work:
    alone, shared = np.zeros(len(place)), dict[frozenset[C], float]()
    for part in parts:
        if part.load > 0 and len(part.claims) == 1:
            (claim,) = part.claims
            alone[place[claim]] += part.load
        elif part.load > 0 and part.claims:
            shared[part.claims] = shared.get(part.claims, 0.0) + part.load
    return _Work(
        alone,
        tuple(
            (np.array(sorted(place[claim] for claim in together)), load)
            for together, load in shared.items()
        ),
    )


def _best(work: _Work, levels: Shares, weights: Shares, is_free: Mask) -> tuple[Claims, float]:
    """Return the claims that release most for their weight if they rise, and what they release.

    A part is released by those who hold it back: they have given up least of all that share it.
    """
    own = work.alone.copy()
    groups: dict[bytes, tuple[Claims, float]] = {}
    for members, load in work.shared:
        holders = _holders(members, levels)
        if len(holders) == 1:
            own[holders[0]] += load
        else:
            name = holders.tobytes()
            groups[name] = (holders, load + (groups[name][1] if name in groups else 0.0))
    densities = np.where(is_free, own / weights, 0.0)
    first = int(densities.argmax()) if len(densities) else 0
    best, gain = np.array([first]), float(own[first]) if len(densities) else 0.0
    density = float(densities[first]) if len(densities) else 0.0
    for holders, _ in groups.values():
        if not is_free[holders].all():
            continue
        inside = sum(load for each, load in groups.values() if np.isin(each, holders).all())
        release = float(own[holders].sum()) + inside
        if release / weights[holders].sum() > density:
            density = release / float(weights[holders].sum())
            best, gain = holders, release
    return (best, gain) if density > 0 else (best, 0.0)


def _holders(members: Claims, levels: Shares) -> Claims:
    at = levels[members]
    found: Claims = members[at <= at.min() + NOTHING]
    return found


def _next_level(work: _Work, levels: Shares, raised: Claims) -> float:
    """Return how far claims can rise until others begin to hold back what they share."""
    level = levels[raised[0]]
    found = 1.0
    for members, _ in work.shared:
        if np.isin(_holders(members, levels), raised).all():
            above = levels[members] - level
            found = min(found, float(above[above > NOTHING].min(initial=1.0)))
    return found
