"""Work: what one tuple costs in each unit, and in all that follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.model.goals import DEFAULT_PRIORITY
from penstock.schedule.costs.flow import LEAST_SECONDS, CostedGraph
from penstock.schedule.costs.fragments import Forest, Job
from penstock.schedule.costs.observation import Observation
from penstock.schedule.costs.shape import UnitShape


@dataclass(frozen=True, slots=True)
class Crossing:
    """A unit as a tuple of one of its leaves meets it: its cost, and how many come out for it."""

    seconds: float
    selectivity: float


@dataclass(frozen=True, slots=True)
class UnitWork:
    """The units of a flow, inputs first, and how each leaf's tuples cross them."""

    flow: CostedGraph
    parts: tuple[UnitShape, ...]
    seen: Observation
    crossings: Mapping[tuple[str, str], Crossing]

    def seconds(self) -> dict[str, float]:
        """Return the cost of a tuple in each unit, by its dearest leaf."""
        return {
            part.key: max(
                (self.crossings[part.key, leaf].seconds for leaf in part.leaves),
                default=LEAST_SECONDS,
            )
            for part in self.parts
        }

    def finish_seconds(self) -> dict[str, float]:
        """Return what a tuple costs from each unit on, until all its results are out (TIME-28)."""
        after: dict[str, float] = {}
        ahead: dict[str, float] = {}  # of a buffer's tuple, in all that read it
        for part in reversed(self.parts):
            own = [self.crossings[part.key, leaf] for leaf in part.leaves]
            rest = ahead.get(part.key, 0.0)
            costs = [each.seconds + each.selectivity * rest for each in own]
            after[part.key] = max(costs, default=LEAST_SECONDS)
            for leaf, cost in zip(part.leaves, costs, strict=True):
                ahead[leaf] = ahead.get(leaf, 0.0) + cost
        return after

    def depths(self) -> dict[str, int]:
        """Return how many units stand between each unit and the streams, at most."""
        found: dict[str, int] = {}
        for part in self.parts:
            found[part.key] = 1 + max((found.get(leaf, 0) for leaf in part.leaves), default=0)
        return found

    def priorities(self) -> dict[str, int]:
        """Return the highest priority of the queries that need each unit (MAV-30)."""
        needed = self.flow.shape.queries_of()
        return {
            part.key: max(
                (self.seen.query(name).priority for name in needed.get(part.key, ())),
                default=DEFAULT_PRIORITY,
            )
            for part in self.parts
        }

    def release_capacity(self) -> dict[str, float]:
        """Return the bytes a second that each unit frees while it runs (decision 0010)."""
        sizes = self.flow.tuple_bytes
        found: dict[str, float] = {}
        for part in self.parts:
            kept = self.flow.kept_bytes[part.key]
            own = [(sizes[leaf], self.crossings[part.key, leaf]) for leaf in part.leaves]
            found[part.key] = max(
                ((size - each.selectivity * kept) / each.seconds for size, each in own),
                default=0.0,
            )
        return found

    def forests(self, *, weighted: bool) -> dict[str, Forest]:
        """Return, for each stream, the jobs that one of its tuples causes (TIME-26).

        A query's job earns its weight for a stream's tuples of one second, so that a fast stream's
        single tuple is worth less (TIME-21), or 1 a tuple where it is not weighted.
        """
        worth: dict[str, float] = {}
        for name, root in self.flow.shape.roots.items():
            weight = self.seen.query(name).weight if weighted else 1.0
            worth[root] = worth.get(root, 0.0) + weight
        return {
            stream: self._forest(stream, worth, self._rate(stream, weighted))
            for stream in self.flow.shape.inputs
            if stream in self.flow.shape.streams
        }

    def _rate(self, scan: str, weighted: bool) -> float:
        return (self.seen.operator(scan).rate.or_else(1.0) or 1.0) if weighted else 1.0

    def _forest(self, scan: str, worth: Mapping[str, float], rate: float) -> Forest:
        forest: dict[str, Job] = {}
        many = {scan: 1.0}  # tuples in a buffer for one of the stream
        for part in self.parts:
            from_here = [leaf for leaf in part.leaves if leaf in many]
            if not from_here:
                continue
            crossed = [(many[leaf], self.crossings[part.key, leaf]) for leaf in from_here]
            seconds = sum(rows * each.seconds for rows, each in crossed)
            many[part.key] = sum(rows * each.selectivity for rows, each in crossed)
            parent = next((leaf for leaf in from_here if leaf in forest), None)
            profit = worth.get(part.key, 0.0) / rate
            forest[part.key] = Job(max(seconds, LEAST_SECONDS), profit, parent)
        return forest


def work_of(flow: CostedGraph, parts: tuple[UnitShape, ...], seen: Observation) -> UnitWork:
    """Return the work of units, inputs first; a unit's own measure goes before its operators'."""
    crossings = {
        (part.key, leaf): _crossing(part, leaf, flow, seen)
        for part in parts
        for leaf in part.leaves
    }
    return UnitWork(flow, parts, seen, crossings)


def _crossing(part: UnitShape, leaf: str, flow: CostedGraph, seen: Observation) -> Crossing:
    rows, seconds = {leaf: 1.0}, 0.0
    for name in part.members:
        into = sum(rows.get(below, 0.0) for below in flow.shape.inputs.get(name, ()))
        if into:  # what a unit computes only for itself is no node of the graph
            seconds += into * flow.seconds[name]
            rows[name] = into * flow.selectivity[name]
    measured = seen.unit(part.key)
    return Crossing(
        max(LEAST_SECONDS, measured.seconds.believed(seconds)),
        measured.selectivity.believed(rows.get(part.key, 1.0)),
    )
