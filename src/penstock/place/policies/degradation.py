"""Degradation: a processor that got worse gives up its most costly unit (DCAPE-36).

Worse than when its units last changed, by more than a tenth of a full processor: the thesis gives
no figure. Units whose move takes away connections go first; a unit's connections saved by a move
are its neighbours there less its neighbours here. One unit a worsened processor, so that the next
report can tell what it did.
"""

from collections.abc import Iterator

from penstock.place.placement import Placement
from penstock.place.situation import Situation

WORSENED = 0.1


def degradation(situation: Situation) -> Iterator[Placement]:
    """Yield placements in which the worst unit of each worsened processor is elsewhere."""
    costs, settled = situation.costs.processors, situation.settled
    worsened = [
        name
        for name in sorted(costs, key=costs.__getitem__, reverse=True)
        if costs[name] - settled.get(name, costs[name]) > WORSENED
    ]
    choices = [ranked for name in worsened if (ranked := _ranked(situation, name, worsened))]
    for place in range(max(map(len, choices), default=0)):
        yield {**situation.placement, **dict(each[min(place, len(each) - 1)] for each in choices)}


def _ranked(situation: Situation, processor: str, worsened: list[str]) -> list[tuple[str, str]]:
    """Return moves away from a processor, most connections saved first, then most costly."""
    neighbours, placement = situation.network.neighbours(), situation.placement
    costs = situation.costs

    def merit(move: tuple[str, str]) -> tuple[float, float, float]:
        unit, target = move
        saved = sum(placement[each] == target for each in neighbours[unit]) - sum(
            placement[each] == processor for each in neighbours[unit]
        )
        return max(saved, 0), costs.units[unit], -costs.processors[target]

    moves = [
        (unit, target)
        for unit in situation.movable(processor)
        for target in situation.targets()
        if target not in worsened and costs.units[unit] > 0
    ]
    return sorted(moves, key=merit, reverse=True)
