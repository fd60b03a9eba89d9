"""Round robin (MAV-54): ready units take turns, the longest unserved first."""

from collections.abc import Iterable, Sequence

from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.schedule.costs.observation import Observation
from penstock.schedule.strategy import ReadyUnit


class RoundRobin:
    """Law: between two turns of a unit, every other unit that stays ready has had one."""

    def __init__(self) -> None:
        """Start with nobody served."""
        self._turn = 0
        self._served: dict[str, int] = {}

    def observe(self, seen: Observation) -> None:
        """Turns go round whatever units cost."""

    def cut(self, graph: Graph, cut_roots: Iterable[str]) -> tuple[Unit, ...]:
        """Cut where trains are shared."""
        return cut_at_shared(graph, cut_roots)

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the ready unit whose last turn is longest ago."""
        if not ready:
            return None
        chosen = min(ready, key=lambda unit: self._served.get(unit.key, 0))
        self._turn += 1
        self._served[chosen.key] = self._turn
        return chosen.key
