"""Segment (ANA-06, ANA-07): little memory with fewer and longer units than Chain's.

What the document leaves open, memory release capacity and how segments are made, is decision 0010.
"""

from itertools import pairwise

from penstock.schedule.costs.flow import CostedGraph
from penstock.schedule.costs.shape import Path
from penstock.schedule.costs.work import UnitWork
from penstock.schedule.strategies.ranked import Ranked

GAMMA = 1.0  # the next operator stays in the segment while it frees memory at least as fast


class Segment(Ranked):
    """Units are segments, their priority their memory release capacity."""

    needs_operators = True

    def ends(self, flow: CostedGraph) -> set[str]:
        return {path[last] for path in flow.shape.paths for last in breaks(flow, path, GAMMA)}

    def priorities(self, work: UnitWork) -> dict[str, float]:
        return work.release_capacity()


def breaks(flow: CostedGraph, path: Path, gamma: float) -> list[int]:
    """Return the places of a path after which a segment ends, the last one left out."""
    capacities = release_capacities(flow, path)
    return [
        place
        for place, (here, after) in enumerate(pairwise(capacities))
        if not stays(here, after, gamma)
    ]


def stays(here: float, after: float, gamma: float) -> bool:
    """Say whether the next operator's capacity is similar enough to stay in the segment.

    The ratio is compared as a difference, which also holds for operators that need memory.
    """
    return after >= here - (1 - gamma) * abs(here)


def release_capacities(flow: CostedGraph, path: Path) -> list[float]:
    """Return the bytes a second that each operator of a path frees."""
    return [
        (before - flow.selectivity[name] * flow.kept_bytes[name]) / flow.seconds[name]
        for name, before in zip(path, flow.bytes_before(path), strict=True)
    ]
