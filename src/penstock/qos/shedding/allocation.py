"""Allocation (ANA-17): whose tuples are dropped, so that a load is released at the least error.

Each query's tuples of a stream are a *stake*. A piece of the work can be left out only for a tuple
that none of its stakes wants, so that pieces release, for shares y that stakes give up,

    Σ load(piece) · min(y of its stakes)

and what is lost is Σ weight · y. The place weight of a piece (ANA-15, ε weighted) is what is
released by a drop before it, over the weight of all that this drops for. The greatest one is raised
until a stake's limit, or the level of others that share with it, is reached: the fractional
knapsack, where pieces that stakes share are counted once and only for all of them. What is released
is concave and supermodular in y, so the order is right and nothing has to be taken back.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

C = TypeVar("C", bound=Hashable)

NOTHING = 1e-12  # shares and loads below it are none

Stakes = npt.NDArray[np.int64]  # by number
Shares = npt.NDArray[np.float64]  # by stake
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class WorkShare(Generic[C]):
    """A share of the work that some stakes need, while nothing is dropped."""

    load: float
    stakes: frozenset[C]


@dataclass(frozen=True, slots=True)
class Limit:
    """How much a stake may give up, and what it is worth."""

    most: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Allocation(Generic[C]):
    """What each stake gives up, what that releases, and what is still to be released."""

    shed: Mapping[C, float]
    released: float
    short: float


def allocate(
    pieces: Sequence[WorkShare[C]], limits: Mapping[C, Limit], release: float
) -> Allocation[C]:
    """Return the least weighted error that releases a load, or the most that limits allow."""
    stakes = sorted(limits, key=repr)
    work = _work(pieces, {stake: number for number, stake in enumerate(stakes)})
    most = np.array([limits[stake].most for stake in stakes])
    weights = np.array([limits[stake].weight for stake in stakes])
    levels = np.zeros(len(stakes))
    left = release
    while left > NOTHING:
        raised, gain = _best(work, levels, weights, most - levels > NOTHING)
        if gain <= 0:
            break
        room = float((most - levels)[raised].min())
        step = min(room, _next_level(work, levels, raised), left / gain)
        levels[raised] += step
        left -= step * gain
    shed = dict(zip(stakes, levels.tolist(), strict=True))
    return Allocation(shed, release - left, max(0.0, left))


def released(pieces: Sequence[WorkShare[C]], shed: Mapping[C, float]) -> float:
    """Return the load that is not there while stakes give up these shares."""
    return sum(piece.load * min(shed[stake] for stake in piece.stakes) for piece in pieces)


@dataclass(frozen=True, slots=True)
class _Work:
    """The load that each stake needs by itself, and that which several need together."""

    alone: npt.NDArray[np.float64]
    shared: tuple[tuple[Stakes, float], ...]


def _work(pieces: Sequence[WorkShare[C]], place: Mapping[C, int]) -> _Work:
    alone, shared = np.zeros(len(place)), dict[frozenset[C], float]()
    for piece in pieces:
        if piece.load > 0 and len(piece.stakes) == 1:
            (stake,) = piece.stakes
            alone[place[stake]] += piece.load
        elif piece.load > 0 and piece.stakes:
            shared[piece.stakes] = shared.get(piece.stakes, 0.0) + piece.load
    return _Work(
        alone,
        tuple(
            (np.array(sorted(place[stake] for stake in together)), load)
            for together, load in shared.items()
        ),
    )


def _best(work: _Work, levels: Shares, weights: Shares, is_free: Mask) -> tuple[Stakes, float]:
    """Return the stakes that release most for their weight if they rise, and what they release.

    A piece is released by those who hold it back: they have given up least of all that share it.
    """
    own = work.alone.copy()
    groups: dict[bytes, tuple[Stakes, float]] = {}
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


def _holders(members: Stakes, levels: Shares) -> Stakes:
    at = levels[members]
    found: Stakes = members[at <= at.min() + NOTHING]
    return found


def _next_level(work: _Work, levels: Shares, raised: Stakes) -> float:
    """Return how far stakes can rise until others begin to hold back what they share."""
    level = levels[raised[0]]
    found = 1.0
    for members, _ in work.shared:
        if np.isin(_holders(members, levels), raised).all():
            above = levels[members] - level
            found = min(found, float(above[above > NOTHING].min(initial=1.0)))
    return found
