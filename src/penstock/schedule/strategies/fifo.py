"""FIFO, or flow-based (MAV-56, DCAPE-09): whoever has waited longest; nobody is preferred."""

from collections.abc import Iterable, Sequence

from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.schedule.costs.observation import Observation
from penstock.schedule.strategy import ReadyUnit


class Fifo:
    """Law: the tuple that came first into the system is the one that moves."""

    def observe(self, seen: Observation) -> None:
        """Arrival decides, whatever units cost."""

    def cut(self, graph: Graph, cut_roots: Iterable[str]) -> tuple[Unit, ...]:
        """Cut where trains are shared."""
        return cut_at_shared(graph, cut_roots)

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the ready unit whose oldest tuple came first."""
        return min(ready, key=lambda unit: unit.waiting_since).key if ready else None
