"""Guarded: a strategy whose defects stop nothing."""

from collections.abc import Callable, Iterable, Sequence

from penstock.plan.graph import Graph
from penstock.plan.units import Unit
from penstock.schedule.observation import Observation
from penstock.schedule.round_robin import RoundRobin
from penstock.schedule.strategy import ReadyUnit, Strategy


class Guarded:
    """Lets a strategy choose, and round robin where it names a unit that is not ready.

    `tell` hears of each defect. To wait (None) is no defect.
    """

    def __init__(self, strategy: Strategy, tell: Callable[[str], None]) -> None:
        """Take the strategy, and whoever writes its defects down."""
        self._strategy, self._tell = strategy, tell
        self._instead = RoundRobin()

    def observe(self, seen: Observation) -> None:
        """Pass the figures on."""
        self._strategy.observe(seen)

    def cut(self, graph: Graph, standing: Iterable[str]) -> tuple[Unit, ...]:
        """Cut as the strategy does."""
        return self._strategy.cut(graph, standing)

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the strategy's choice, or round robin's where that cannot run."""
        chosen = self._strategy.next(ready, now)
        if chosen is None or any(unit.key == chosen for unit in ready):
            return chosen
        name = type(self._strategy).__name__
        self._tell(f"strategy {name} chose {chosen}, which is not ready; round robin goes on")
        return self._instead.next(ready, now)
