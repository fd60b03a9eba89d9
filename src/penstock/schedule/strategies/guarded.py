"""Guarded: a strategy whose defects stop nothing."""

from collections.abc import Callable, Iterable, Sequence

from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.schedule.costs.observation import Observation
from penstock.schedule.costs.shape import parts_of, shape_of
from penstock.schedule.strategies.ranked import Ranked
from penstock.schedule.strategies.round_robin import RoundRobin
from penstock.schedule.strategy import ReadyUnit, Strategy


class Guarded:
    """Lets a strategy choose, and round robin where it raises or names a unit that is not ready.

    `tell` hears of each defect. To wait (None) is no defect.
    """

    def __init__(self, strategy: Strategy, tell: Callable[[str], None]) -> None:
        """Take the strategy, and whoever writes its defects down."""
        self.strategy, self._tell = strategy, tell
        self._instead = RoundRobin()

    @property
    def needs_figures(self) -> bool:
        """Say whether the strategy decides by what units cost."""
        return isinstance(self.strategy, Ranked)

    @property
    def needs_operators(self) -> bool:
        """Say whether it also cuts them by what their operators cost."""
        return isinstance(self.strategy, Ranked) and self.strategy.needs_operators

    def observe(self, seen: Observation) -> None:
        """Pass the figures on; one that cannot use them decides by the last ones."""
        try:
            self.strategy.observe(seen)
        except Exception as error:
            self._defect(f"could not use the figures ({error!r}); it decides by the last ones")

    def cut(self, graph: Graph, cut_roots: Iterable[str]) -> tuple[Unit, ...]:
        """Cut as the strategy does, or only where trains are shared."""
        stands = tuple(cut_roots)
        try:
            return self.strategy.cut(graph, stands)
        except Exception as error:
            self._defect(f"could not cut the graph ({error!r}); it is cut where trains are shared")
            return cut_at_shared(graph, stands)

    def take_over(self, graph: Graph, units: Sequence[Unit]) -> None:
        """Choose among units that are cut already."""
        if isinstance(self.strategy, Ranked):
            self.strategy.adopt(shape_of(graph), parts_of(units))

    def next(self, ready: Sequence[ReadyUnit], now: float) -> str | None:
        """Return the strategy's choice, or round robin's where that cannot run."""
        try:
            chosen = self.strategy.next(ready, now)
        except Exception as error:
            self._defect(f"could not choose ({error!r}); round robin goes on")
            return self._instead.next(ready, now)
        if chosen is None or any(unit.key == chosen for unit in ready):
            return chosen
        self._defect(f"chose {chosen}, which is not ready; round robin goes on")
        return self._instead.next(ready, now)

    def _defect(self, what: str) -> None:
        self._tell(f"strategy {type(self.strategy).__name__} {what}")
