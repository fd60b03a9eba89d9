"""Ranked: what strategies have in common that give each unit a priority until figures change."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.schedule.costs.flow import CostedGraph, flow_of, may_end
from penstock.schedule.costs.observation import NOTHING_SEEN, Observation
from penstock.schedule.costs.run_cost import RunCost, run_cost_of
from penstock.schedule.costs.shape import GraphShape, UnitShape, parts_of, shape_of
from penstock.schedule.costs.work import UnitWork, work_of
from penstock.schedule.strategy import ReadyUnit, RunningUnit

Place = tuple[float, int, float, str]  # the least runs first
MANY_PLACES = 10_000  # of units that were ready once; more are forgotten


class Places(dict[ReadyUnit, Place]):
    """The places of ready units among all, each found once.

    A place stays while the unit's input and figures do, so that a choice among a thousand is a
    thousand lookups and no more.
    """

    def __init__(self, find: Callable[[ReadyUnit], Place]) -> None:
        """Know none yet."""
        super().__init__()
        self._find = find

    def __missing__(self, unit: ReadyUnit) -> Place:
        """Find and keep the place of a unit that was not asked for before."""
        if len(self) >= MANY_PLACES:
            self.clear()
        place = self[unit] = self._find(unit)
        return place


class Ranked:
    """Runs the ready unit of the highest priority; among equals the one nearest to the results.

    A strategy says where its units end besides where trains are shared, and how it ranks them.
    `needs_operators` where it cuts by what operators cost inside a unit: that takes trials.
    """

    needs_operators: ClassVar[bool] = False

    def __init__(self) -> None:
        """Start with no figures and no units."""
        self._seen = NOTHING_SEEN
        self._shape = shape_of(Graph())
        self._parts: tuple[UnitShape, ...] = ()
        self.priority: dict[str, float] = {}
        self._depth: dict[str, int] = {}
        self._places = Places(self._place_of)
        self._costs: dict[str, RunCost] = {}

    def ends(self, flow: CostedGraph) -> set[str]:
        """Return the nodes where units end; shared ones and the like end by themselves."""
        return set()

    def priorities(self, work: UnitWork) -> dict[str, float]:
        """Return each unit's priority, the highest first to run."""
        return {}

    def observe(self, seen: Observation) -> None:
        """Rank the units anew."""
        self._seen = seen
        self._rank()

    def cut(self, graph: Graph, cut_roots: Iterable[str]) -> tuple[Unit, ...]:
        """Cut where trains are shared and where the strategy's units end."""
        shape = shape_of(graph)
        ends = self.ends(flow_of(shape, self._seen))
        units = cut_at_shared(graph, {*cut_roots, *(ends & may_end(graph) if ends else ())})
        self.adopt(shape, parts_of(units))
        return units

    def adopt(self, shape: GraphShape, parts: tuple[UnitShape, ...]) -> None:
        """Choose among these units, whoever cut them."""
        self._shape, self._parts = shape, parts
        self._rank()

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the ready unit of the highest priority; equals in the order of their waiting."""
        return min(ready, key=self._places.__getitem__).key if ready else None

    def interrupt(self, running: RunningUnit, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the best ready unit where its priority is above that of the one at work."""
        best = self.next(ready, now)
        if best is None or self._of(best) <= self._of(running.ready.key):
            return None
        return best

    def _of(self, name: str) -> float:
        return self.priority.get(name, 0.0)

    def _gain(self, unit: ReadyUnit) -> float:
        """Return what a second of the run is worth that a unit would start now."""
        gain = self._of(unit.key)
        cost = self._costs.get(unit.key)
        return gain * cost.pays(unit.waiting_rows) if cost is not None and gain > 0 else gain

    def _place_of(self, unit: ReadyUnit) -> Place:
        depth = self._depth.get(unit.key, 0)
        return -self._gain(unit), -depth, unit.waiting_since, unit.key

    def _rank(self) -> None:
        work = work_of(flow_of(self._shape, self._seen), self._parts, self._seen)
        self._depth = work.depths()
        self.priority = self.priorities(work)
        self._places.clear()
        self._costs = {
            name: cost
            for name, mean in work.seconds().items()
            if (cost := run_cost_of(self._seen.run_seconds, mean, self._seen.unit(name).run_rows))
        }
