"""The graph cutter: makes units of the shared graph, anew after each change of it.

Everything here is done while quiesced.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from penstock.clock import Clock
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.bundles import GraphPlacement, bundled
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.runtime.loop.control import Control
from penstock.runtime.topology.connection import connect
from penstock.runtime.topology.placement import may_bundle, needed_cuts, placement_of
from penstock.runtime.topology.topology import Topology
from penstock.schedule import Choice

RECUTS = 6  # checkpoints after a change at which a strategy cuts by figures that are better known


class GraphCutter:
    """Cuts as the strategy in control says; with `share`, queries that can run as one do."""

    def __init__(self, topology: Topology, control: Control, clock: Clock, *, share: bool) -> None:
        """Start with no cut."""
        self.topology, self.control, self._clock, self._share = topology, control, clock, share
        self.statistics = control.dispatcher.statistics
        self._changing, self._changed = 0, False
        self._recuts, self._held = RECUTS, False
        # Counts beginnings and ends of cuts: one is under way where it is odd. Whoever looks from
        # another thread compares it before and after the look.
        self.cuts = 0

    @property
    def is_cutting(self) -> bool:
        """Say whether a cut is under way: do not report idle while the graph is being rebuilt."""
        return self.cuts % 2 == 1

    def changed(self) -> None:
        """Cut the graph anew after a change: now, or at the end of `changing`."""
        if self._changing:
            self._changed = True
        else:
            self.reconnect()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Cut the graph anew once for all changes inside, also where one raises."""
        self._changing += 1
        try:
            yield
        finally:
            self._changing -= 1
            if self._changed and not self._changing:
                self.reconnect()

    def reconnect(self, placement: GraphPlacement | None = None) -> None:
        """Cut the graph anew after a change. What stands keeps its units.

        With what stood at a checkpoint it is cut just as then: recorded runs are done again.
        """
        self._changed = False
        self.statistics.remember(self.topology, self._clock.now())
        if placement is not None:
            graph = self.shared(self.topology.graph, placement)
            units = cut_at_shared(graph, placement.units)
            self.control.strategy.take_over(graph, units)
            self._connect(units)
        else:
            self._connect(self.units_of(self.topology.graph, placement_of(self.topology)))
            self._recuts = RECUTS
        self.statistics.forget_all_but(self.topology)

    def recut(self) -> None:
        """Cut as the strategy would if nothing stood.

        Where trains wait between two operators they stay apart until these are read.
        """
        self.statistics.remember(self.topology, self._clock.now())
        placement, needed = placement_of(self.topology), needed_cuts(self.topology)
        self._connect(self.units_of(self.topology.graph, replace(placement, units=needed)))
        self.statistics.forget_all_but(self.topology)
        self._held = bool(needed - self.topology.outputs)
        self._recuts = self._recuts - 1 if self._held or not self.control.is_sure else 0

    def retire_ended(self) -> None:
        """Remove ended queries and what only they needed; bundle those that can share."""
        ended = self.topology.retired()
        for query in ended:
            self.topology.retire(query)
        if ended or (self._share and may_bundle(self.topology)):
            self.reconnect()
        elif self._may_recut() and not self.topology.is_replaying():
            self.recut()

    def use_strategy(self, choice: Choice) -> None:
        """Switch to another strategy, over units as it cuts them."""
        self.control.use_strategy(choice)
        self._recuts = RECUTS
        self.recut()

    def serve_need(self) -> None:
        """Switch to the strategy that is needed now."""
        if self.control.wants_other and not self.topology.is_replaying():
            self.control.serve()
            self._recuts = RECUTS
            self.recut()

    def units_of(self, graph: Graph, placement: GraphPlacement) -> tuple[Unit, ...]:
        """Return the units of a graph, given what stands."""
        return self.control.strategy.cut(self.shared(graph, placement), placement.units)

    def shared_graph(self) -> Graph:
        """Return the graph as it runs, bundles for their members."""
        return self.shared(self.topology.graph, placement_of(self.topology))

    def shared(self, graph: Graph, placement: GraphPlacement) -> Graph:
        """Return a graph with bundles for their members, where queries share."""
        return bundled(graph, placement) if self._share else graph

    def _connect(self, units: Sequence[Unit]) -> None:
        self.cuts += 1
        try:
            connect(self.topology, units)
        finally:
            self.cuts += 1

    def _may_recut(self) -> bool:
        """Say whether another cut may be better: figures are better known, or trains are read."""
        return self._recuts > 0 and (self._held or self.control.strategy.needs_operators)
