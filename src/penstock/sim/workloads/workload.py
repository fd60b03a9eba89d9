"""Workload: queries, what their operators cost in truth, and what comes in."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import cut_at_shared
from penstock.schedule.costs.flow import flow_of
from penstock.schedule.costs.observation import Average, Observation, OperatorFigures
from penstock.schedule.costs.shape import parts_of, shape_of
from penstock.schedule.costs.work import work_of
from penstock.sim.workloads.arrivals import Arrival, mean_rate, rows_of


@dataclass(frozen=True, slots=True)
class Workload:
    """A graph with declared figures; arrivals and validity (seconds) by the stream's node.

    Rates are over `seconds`, or over the time from the first arrival to the last where none is
    given: bursts that leave the ends empty would else look like a higher rate.
    """

    graph: Graph
    truth: Observation
    arrivals: Mapping[str, Sequence[Arrival]]
    validity: Mapping[str, float] = field(default_factory=dict)
    seconds: float | None = None

    def load(self) -> float:
        """Return the share of one slot that all the work needs (ANA-12, Φ)."""
        flow = flow_of(shape_of(self.graph), self.truth)
        work = work_of(flow, parts_of(cut_at_shared(self.graph)), self.truth)
        return sum(
            self.rate_of(stream) * sum(job.seconds for job in forest.values())
            for stream, forest in work.forests(weighted=False).items()
            if self.arrivals.get(stream)
        )

    def at_load(self, wanted: float) -> "Workload":
        """Return the workload with all costs scaled, so that its load is as wanted."""
        if not (present := self.load()):
            return self  # nothing comes
        factor = wanted / present
        return self.with_operators(
            {
                name: replace(each, seconds=Average.known(each.seconds.or_else(0.0) * factor))
                for name, each in self.truth.operators.items()
            }
        )

    def with_operators(self, operators: Mapping[str, OperatorFigures]) -> "Workload":
        """Return the workload with other figures."""
        return replace(self, truth=replace(self.truth, operators=operators))

    def measured(self) -> Observation:
        """Return what an observer of the workload would tell strategies: the truth, with rates."""
        rates = {
            name: replace(self.truth.operator(name), rate=Average.known(self.rate_of(name)))
            for name, arrivals in self.arrivals.items()
            if arrivals
        }
        return replace(self.truth, operators={**self.truth.operators, **rates})

    def rate_of(self, stream: str) -> float:
        """Return a stream's mean rate, in tuples a second."""
        arrivals = self.arrivals[stream]
        return rows_of(arrivals) / self.seconds if self.seconds else mean_rate(arrivals)

    def validity_of(self, stream: str) -> float:
        """Return for how many seconds a stream's tuples are worth anything."""
        return self.validity.get(stream, math.inf)
