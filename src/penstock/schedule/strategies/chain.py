"""Chain (DCAPE-09; Babcock, Babu, Datar and Motwani, SIGMOD 2003): least memory in queues.

A path's progress chart has the size of a tuple over the time it has been worked on. Its lower
envelope cuts the path into segments; the steepest segment with input frees memory fastest.
"""

from penstock.schedule.costs.flow import CostedGraph
from penstock.schedule.costs.shape import Path
from penstock.schedule.costs.work import UnitWork
from penstock.schedule.strategies.ranked import Ranked

Point = tuple[float, float]


class Chain(Ranked):
    """Units are the segments of the lower envelope, their priority its slope."""

    needs_operators = True

    def ends(self, flow: CostedGraph) -> set[str]:
        return {
            path[last]
            for path in flow.shape.paths
            for _, last in envelope(progress(flow, path))
            if last < len(path) - 1
        }

    def priorities(self, work: UnitWork) -> dict[str, float]:
        """Return each unit's slope; a node of several paths has the steepest of its slopes."""
        found: dict[str, float] = {}
        names = {part.key for part in work.parts}
        for path in work.flow.shape.paths:
            first = 0
            for slope, last in envelope(progress(work.flow, path)):
                for name in names.intersection(path[first : last + 1]):
                    found[name] = max(slope, found.get(name, slope))
                first = last + 1
        return found


def progress(flow: CostedGraph, path: Path) -> list[Point]:
    """Return the progress chart: after each node, the time spent and the bytes that are left."""
    elapsed, many = 0.0, 1.0
    points = [(elapsed, flow.bytes_before(path)[0])]
    for name in path:
        elapsed += many * flow.seconds[name]
        many *= flow.selectivity[name]
        points.append((elapsed, many * flow.kept_bytes[name]))
    return points


def envelope(points: list[Point]) -> list[tuple[float, int]]:
    """Return the segments of the lower envelope: how steep each falls, and its last node's place.

    From each corner on, the segment is the steepest descent to any later point.
    """
    found: list[tuple[float, int]] = []
    at = 0
    while at < len(points) - 1:
        start, size = points[at]
        later = list(enumerate(points))[at + 1 :]
        slope, to = max(((size - left) / (end - start), n) for n, (end, left) in later)
        found.append((slope, to - 1))
        at = to
    return found
