"""Earliest deadline first (TIME-28): best while there is time for all, poor in overload."""

from collections.abc import Iterable, Sequence

from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.schedule.costs.observation import Observation
from penstock.schedule.strategy import ReadyUnit


class EarliestDeadline:
    """Law: no ready unit's tuples expire before those of the one that runs."""

    def observe(self, seen: Observation) -> None:
        """Deadlines decide, whatever units cost."""

    def cut(self, graph: Graph, cut_roots: Iterable[str]) -> tuple[Unit, ...]:
        """Cut where trains are shared."""
        return cut_at_shared(graph, cut_roots)

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the unit whose tuples expire first; those that never do, as they came."""
        return (
            min(ready, key=lambda unit: (unit.deadline, unit.waiting_since)).key if ready else None
        )
