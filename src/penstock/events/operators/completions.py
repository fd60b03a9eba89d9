"""Who completes whom in AND and ANY, column-wise: every combination, or the newest of each part."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from penstock.events.occurrences.batch import Ints, Mask, spread
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.occurrences.pool import Pool

ABSENT = -1


@dataclass(frozen=True, slots=True)
class Meetings:
    """Detections as places in a pool: who completed each, and who takes part.

    `owner` says whose detection each of the `members` is in; it rises, and so do the members of
    one detection.
    """

    at: Ints
    owner: Ints
    members: Ints
    left: Mask
    mark: Ints
    dropped: int = 0


def starts_rise_in_parts(pool: Pool, parts: int) -> bool:
    """Say whether, inside each key and part, what arrives later never starts earlier."""
    for part in range(parts):
        at = pool.of_part(part)
        rises = np.diff(pool.start[at]) >= 0
        if not (rises | (np.diff(pool.key[at]) != 0)).all():
            return False
    return True


def meet_newest(pool: Pool, parts: int, count: int, bounds: OccurrenceBounds) -> Meetings:
    """Combine each new occurrence with the newest of the other parts; starts must rise."""
    at = np.flatnonzero(pool.new)
    seen = np.full((len(at), parts), ABSENT)
    for part in range(parts):
        mine = pool.of_part(part)
        if not len(mine):
            continue
        place = np.searchsorted(mine, at) - 1
        found = mine[place]
        fits = (place >= 0) & (pool.key[found] == pool.key[at]) & (pool.part[at] != part)
        if bounds.within is not None:
            fits &= pool.end[at] - pool.start[found] <= bounds.within
        seen[fits, part] = found[fits]
    least = np.sort(seen, axis=1)[:, parts - count + 1]
    complete = least > ABSENT
    at, seen, least = at[complete], seen[complete], least[complete]
    chosen = seen >= least[:, None]
    owner = np.repeat(np.arange(len(at)), count)
    members = np.where(chosen, seen, ABSENT)
    whole = np.sort(np.column_stack([members, at]), axis=1)[:, -count:]
    return _met(pool, at, owner, whole.ravel())


def meet_every(pool: Pool, parts: int, count: int, bounds: OccurrenceBounds) -> Meetings:
    """Combine each new occurrence with every combination of earlier ones."""
    begins = pool.key_begins()
    where = [pool.of_part(part) for part in range(parts)]
    found = []
    for part in range(parts):
        at = where[part][pool.new[where[part]]]
        for others in combinations([each for each in range(parts) if each != part], count - 1):
            rows = at[:, None]
            for other in others:
                rows = _each_with(pool, rows, where[other], begins, bounds)
            found.append(rows)
    whole = np.concatenate(found)
    at = whole[:, 0]
    members = np.sort(whole, axis=1)
    order = np.lexsort((*members.T[::-1], at))
    owner = np.repeat(np.arange(len(at)), count)
    return _met(pool, at[order], owner, members[order].ravel())


def _each_with(pool: Pool, rows: Ints, other: Ints, begins: Ints, bounds: OccurrenceBounds) -> Ints:
    at = rows[:, 0]
    high = np.searchsorted(other, at)
    low = np.searchsorted(other, begins[at])
    if bounds.cap is not None:
        low = np.maximum(low, high - bounds.cap)
    owner, place = spread(low, high)
    made = np.column_stack([rows[owner], other[place]])
    if bounds.within is None:
        return made
    return made[pool.end[made[:, 0]] - pool.start[made[:, -1]] <= bounds.within]


def _met(pool: Pool, at: Ints, owner: Ints, members: Ints) -> Meetings:
    return Meetings(at, owner, members, np.ones(len(pool), np.bool_), pool.mark)
