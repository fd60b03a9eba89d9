"""Least cut: the fewest bytes between processors while no processor has much more than its share.

Starts from the other patterns and from a greedy one (each unit goes where most of its neighbours
are, weighed by the room that is left: Stanton and Kliot, "Streaming Graph Partitioning for Large
Distributed Graphs", KDD 2012), and improves each by passes of Fiduccia and Mattheyses ("A
Linear-Time Heuristic for Improving Network Partitions", DAC 1982): move the best unit, lock it, go
on even where that makes it worse, and keep the best that was seen. The bound comes first: a
placement that overloads a processor less is better, whatever it cuts.
"""

from collections.abc import Mapping, Sequence

from penstock.place.network import Network
from penstock.place.patterns.grouping import grouping
from penstock.place.patterns.refinement import Refinement, Score, score_of
from penstock.place.patterns.round_robin import round_robin
from penstock.place.placement import Placement
from penstock.place.processor import Processor

MOST_PASSES = 50  # each gains something; most networks need fewer than ten
IMBALANCE = 0.1  # over its share of all the work, by its capacity


def least_cut(
    network: Network, processors: Sequence[Processor], imbalance: float = IMBALANCE
) -> dict[str, str]:
    """Return a placement that is never worse than `round_robin` and `grouping`."""
    bounds = bounds_of(network, processors, imbalance)
    starts = (pattern(network, processors) for pattern in (_greedy, grouping, round_robin))
    found = (refined(network, bounds, start) for start in starts)
    return min(found, key=lambda each: score_of(network, bounds, each))


def bounds_of(
    network: Network, processors: Sequence[Processor], imbalance: float = IMBALANCE
) -> dict[str, float]:
    """Return the seconds a second that each processor may be given: never more than it can do."""
    share = network.load / sum(each.capacity for each in processors)
    return {each.name: min(1.0, share * (1 + imbalance)) * each.capacity for each in processors}


def refined(network: Network, bounds: Mapping[str, float], start: Placement) -> dict[str, str]:
    """Return what passes of Fiduccia and Mattheyses make of a placement."""
    refinement = Refinement(network, bounds, start)
    for _ in range(MOST_PASSES):
        if not refinement.one_pass() and not refinement.exchange():
            break
    return refinement.placement


def _greedy(network: Network, processors: Sequence[Processor]) -> dict[str, str]:
    bounds = bounds_of(network, processors)
    room = dict(bounds)
    nets = network.nets()
    found: dict[str, str] = {}
    for name, unit in network.units.items():
        near = dict.fromkeys(bounds, 0.0)
        for each in unit.inputs:
            units, size = nets[each]
            for processor in {found[other] for other in units if other in found}:
                near[processor] += size
        found[name] = _roomiest(near, room, bounds)
        room[found[name]] -= unit.load
    return found


def _roomiest(
    near: Mapping[str, float], room: Mapping[str, float], bounds: Mapping[str, float]
) -> str:
    """Return where the neighbours' bytes weigh most by the share of the room that is left."""

    def worth(processor: str) -> Score:
        left = room[processor] / bounds[processor] if bounds[processor] else 0.0
        return near[processor] * max(left, 0.0), left

    return max(bounds, key=worth)
