"""Work: what one tuple costs in each unit, and in all that follows from it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.plan.operators import key
from penstock.plan.units import Unit
from penstock.schedule.flow import LEAST_SECONDS, Flow
from penstock.schedule.fragments import Forest, Job
from penstock.schedule.observation import DEFAULT_PRIORITY, Observation


@dataclass(frozen=True, slots=True)
class Crossing:
    """A unit as a tuple of one of its leaves meets it: its cost, and how many come out for it."""

    seconds: float
    selectivity: float


@dataclass(frozen=True, slots=True)
class Work:
    """The units of a flow, inputs first, and how each leaf's tuples cross them."""

    flow: Flow
    units: tuple[Unit, ...]
    seen: Observation
    crossings: Mapping[tuple[str, str], Crossing]

    def seconds(self) -> dict[str, float]:
        """Return the cost of a tuple in each unit, by its dearest leaf."""
        return {
            unit.key: max(
                (self.crossings[unit.key, leaf].seconds for leaf in unit.inputs),
                default=LEAST_SECONDS,
            )
            for unit in self.units
        }

    def finish_seconds(self) -> dict[str, float]:
        """Return what a tuple costs from each unit on, until all its results are out (TIME-28)."""
        after: dict[str, float] = {}
        ahead: dict[str, float] = {}  # of a buffer's tuple, in all that read it
        for unit in reversed(self.units):
            own = [self.crossings[unit.key, leaf] for leaf in unit.inputs]
            rest = ahead.get(unit.key, 0.0)
            costs = [each.seconds + each.selectivity * rest for each in own]
            after[unit.key] = max(costs, default=LEAST_SECONDS)
            for leaf, cost in zip(unit.inputs, costs, strict=True):
                ahead[leaf] = ahead.get(leaf, 0.0) + cost
        return after

    def depths(self) -> dict[str, int]:
        """Return how many units stand between each unit and the streams, at most."""
        found: dict[str, int] = {}
        for unit in self.units:
            found[unit.key] = 1 + max((found.get(leaf, 0) for leaf in unit.inputs), default=0)
        return found

    def priorities(self) -> dict[str, int]:
        """Return the highest priority of the queries that need each unit (MAV-30)."""
        needed = self.flow.graph.queries_of()
        return {
            unit.key: max(
                (self.seen.query(name).priority for name in needed.get(unit.key, ())),
                default=DEFAULT_PRIORITY,
            )
            for unit in self.units
        }

    def release_capacity(self) -> dict[str, float]:
        """Return the bytes a second that each unit frees while it runs (decision 0010)."""
        sizes = self.flow.tuple_bytes
        found: dict[str, float] = {}
        for unit in self.units:
            kept = self.flow.kept_bytes[unit.key]
            own = [(sizes[leaf], self.crossings[unit.key, leaf]) for leaf in unit.inputs]
            found[unit.key] = max(
                ((size - each.selectivity * kept) / each.seconds for size, each in own),
                default=0.0,
            )
        return found

    def forests(self, *, weighted: bool) -> list[Forest]:
        """Return, for each stream, the jobs that one of its tuples causes (TIME-26).

        A query's job earns its weight for a stream's tuples of one second, so that a fast stream's
        single tuple is worth less (TIME-21), or 1 a tuple where it is not weighted.
        """
        worth: dict[str, float] = {}
        for name, root in self.flow.graph.queries.items():
            weight = self.seen.query(name).weight if weighted else 1.0
            worth[key(root)] = worth.get(key(root), 0.0) + weight
        scans = [key(scan) for scan in self.flow.graph.scans()]
        return [self._forest(scan, worth, self._rate(scan, weighted)) for scan in scans]

    def _rate(self, scan: str, weighted: bool) -> float:
        return (self.seen.operator(scan).rate.or_else(1.0) or 1.0) if weighted else 1.0

    def _forest(self, scan: str, worth: Mapping[str, float], rate: float) -> Forest:
        forest: dict[str, Job] = {}
        many = {scan: 1.0}  # tuples in a buffer for one of the stream
        for unit in self.units:
            from_here = [leaf for leaf in unit.inputs if leaf in many]
            if not from_here:
                continue
            crossed = [(many[leaf], self.crossings[unit.key, leaf]) for leaf in from_here]
            seconds = sum(rows * each.seconds for rows, each in crossed)
            many[unit.key] = sum(rows * each.selectivity for rows, each in crossed)
            parent = next((leaf for leaf in from_here if leaf in forest), None)
            profit = worth.get(unit.key, 0.0) / rate
            forest[unit.key] = Job(max(seconds, LEAST_SECONDS), profit, parent)
        return forest


def work_of(flow: Flow, units: Iterable[Unit], seen: Observation) -> Work:
    """Return the work of units, inputs first; a unit's own measure goes before its operators'."""
    listed = tuple(units)
    crossings = {
        (unit.key, leaf): _crossing(unit, leaf, flow, seen)
        for unit in listed
        for leaf in unit.inputs
    }
    return Work(flow, listed, seen, crossings)


def _crossing(unit: Unit, leaf: str, flow: Flow, seen: Observation) -> Crossing:
    rows, seconds = {leaf: 1.0}, 0.0
    for member in unit.members():
        name = key(member)
        into = sum(rows.get(key(each), 0.0) for each in member.inputs)
        seconds += into * flow.seconds[name]
        rows[name] = into * flow.selectivity[name]
    measured = seen.unit(unit.key)
    return Crossing(
        max(LEAST_SECONDS, measured.seconds.believed(seconds)),
        measured.selectivity.believed(rows.get(unit.key, 1.0)),
    )
