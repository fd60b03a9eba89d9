"""Balance: units go from the most loaded processor to the least loaded, until nothing evens out.

Those in between are left alone, as units that work well together may be there (DCAPE-35).
"""

from collections.abc import Iterator

from penstock.place.placement import Placement
from penstock.place.situation import Situation

LEAST_GAIN = 1e-6  # of a full processor: less is rounding


def balance(situation: Situation) -> Iterator[Placement]:
    """Yield the placement that is as even as moves from the heaviest to the lightest make it."""
    costs = dict(situation.costs.processors)
    placement = dict(situation.placement)
    targets = situation.targets()
    movable = {name: situation.movable(name) for name in costs}
    moved = False
    while targets:
        heaviest = max(costs, key=costs.__getitem__)
        lightest = min(targets, key=costs.__getitem__)
        gap = costs[heaviest] - costs[lightest]
        share = {unit: situation.costs.units[unit] for unit in movable[heaviest]}
        # The gap after a move is |gap - 2 share|: half of it is best, all of it gains nothing.
        unit = min(share, key=lambda each: abs(gap - 2 * share[each]), default=None)
        if unit is None or not LEAST_GAIN < share[unit] < gap - LEAST_GAIN:
            break
        placement[unit] = lightest
        movable[heaviest].remove(unit)
        movable[lightest].append(unit)
        costs[heaviest] -= share[unit]
        costs[lightest] += share[unit]
        moved = True
    if moved:
        yield placement
