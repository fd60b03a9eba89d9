"""Trials of flows: a function's plans over recent windows of its stream, on the processor.

A trial is one run from a fresh state. It sees copies of the rows, so nothing that runs changes, and
it is done beside what runs: that is the load that the plan will have.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states.sites import SitesState, spread
from penstock.engine.states.state import Run
from penstock.engine.trains.rows import in_memory
from penstock.engine.workers.ledger import Ledger
from penstock.errors import BadQueryError
from penstock.functions.operators.function import Call
from penstock.functions.tuning.measurement import SampledWindows, measured, sampled
from penstock.functions.tuning.place import DRIVER, WORKERS, with_ways
from penstock.functions.tuning.plans import SpreadPlan, SpreadStrategy
from penstock.functions.tuning.sites import Costs
from penstock.model.definitions import Sites
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import Flow, key
from penstock.plan.operators.tuples.ordered import NUMBER
from penstock.plan.sharing.units import Unit

TIMES: dict[Sites, int] = {DRIVER: 4, WORKERS: 2}  # the first run in a place is slower
LEAST_WINDOWS = 8  # fewer say nothing
TWO = SpreadPlan(SpreadStrategy.DISTRIBUTE, (2,))


@dataclass(frozen=True, slots=True)
class TrialRun:
    """What a trial took, and what its sites did."""

    seconds: float
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class FlowTrials:
    """Runs a flow's function in different ways over the same windows."""

    processor: Processor
    flow: Flow
    function: Call
    sample: SampledWindows
    numbered: pa.Table

    @property
    def windows(self) -> int:
        """Return how many windows the sample has."""
        return int(self.numbered.num_rows)

    @property
    def slots(self) -> int:
        """Return how many tasks run at once."""
        return self.processor.slots

    def places(self, fans: tuple[int, ...]) -> dict[Sites, Costs]:
        """Return the costs in each place where the flow may run, measured."""
        found = measured(self.function, self.sample, fans, time.perf_counter)
        if not found.compute:
            raise BadQueryError(
                f"{self.function} fails on windows of the stream",
                hint="look at what is held of the query",
            )
        costs = found.costs()
        places: dict[Sites, Costs] = {} if self.flow.sites == WORKERS else {DRIVER: costs}
        if self.flow.sites != DRIVER:
            ran = self.run(TWO, WORKERS)
            seen = {
                "crossing": sum(ran.ledger.crossing.values()) / self.windows,
                "elapsed": ran.seconds / self.windows,
            }
            places[WORKERS] = with_ways(costs, TWO, self.sample.size, self.slots, seen)
        return places

    def seconds_a_window(
        self, plans: Mapping[SpreadPlan, tuple[Sites, ...]]
    ) -> dict[SpreadPlan, float]:
        """Return what a window takes for each plan, in the best of its places.

        Plans take turns, so that what else the machine does hits all of them.
        """
        found = dict.fromkeys(plans, math.inf)
        for turn in range(max(TIMES.values())):
            for plan, places in plans.items():
                for place in places:
                    if turn < TIMES[place]:
                        ran = self._once(plan, place)
                        found[plan] = min(found[plan], ran.seconds / self.windows)
        return found

    def run(self, plan: SpreadPlan, place: Sites) -> TrialRun:
        """Return the shortest of some runs of a plan in a place."""
        runs = (self._once(plan, place) for _ in range(TIMES[place]))
        return min(runs, key=lambda ran: ran.seconds)

    def _once(self, plan: SpreadPlan, place: Sites) -> TrialRun:
        stages = spread(self.flow, plan.name)
        flow = replace(self.flow, stages=stages, sites=place, patience=None)
        state = SitesState.new(flow)
        rows = {key(flow.input): [in_memory(self.numbered)]}
        unit = Unit(flow, (flow.input,), flow)
        run = Run(self.processor, unit, rows, (END_OF_TIME,), (BEGIN_OF_TIME,))
        began = time.perf_counter()
        state.step(run)
        return TrialRun(time.perf_counter() - began, state.ledger)


def trials_of(
    processor: Processor, flow: Flow, function: Call, recent: pa.Table | None
) -> FlowTrials:
    """Return trials over the latest windows of the most common size, or say that there are none."""
    given = flow.stages.given
    names = list(given.schema.names)
    sample = None if recent is None else sampled(given, recent.select(names))
    if sample is None or sample.table.num_rows < LEAST_WINDOWS:
        raise BadQueryError(
            "too few windows of the stream have come to measure with",
            hint=f"try again when {LEAST_WINDOWS} windows have come",
        )
    numbers = pa.array(np.arange(1, sample.table.num_rows + 1, dtype=np.int64))
    return FlowTrials(
        processor, flow, function, sample, sample.table.append_column(NUMBER, numbers)
    )
