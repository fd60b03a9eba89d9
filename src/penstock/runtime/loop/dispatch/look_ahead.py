"""Looking ahead: idle slots aggregate the trains of later runs."""

import time
from concurrent.futures import Future
from dataclasses import dataclass

import pyarrow as pa

from penstock.clock import Clock
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states.windows.aggregate import AggregateState
from penstock.runtime.loop.dispatch.run_queue import RunQueue
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_unit import Ahead, LiveUnit
from penstock.runtime.work.train_groups import Group, ranges_of
from penstock.runtime.work.worker_pool import Workers

AHEAD_ROWS = 50_000  # fewer are aggregated before looking ahead pays


@dataclass(frozen=True, slots=True)
class LookingAhead:
    """Only the supervisor's thread touches it."""

    topology: Topology
    pool: Workers
    processor: Processor
    statistics: Statistics
    run_queue: RunQueue
    clock: Clock

    def start(self) -> None:
        """Use idle slots to aggregate the next trains of units that are running.

        That is not recorded: it changes nothing, and is done again where it is lost.
        """
        for live in self.topology.units.values():
            while self.pool.free_slots > 0 and self._may_start(live):
                group = self._after(live)
                if sum(t.rows.count for trains in group.values() for t in trains) < AHEAD_ROWS:
                    break
                self._start(live, group)

    def _may_start(self, live: LiveUnit) -> bool:
        if live.unit.aggregate is None or live.replay or live.cause or live.must_end:
            return False
        if isinstance(live.state, AggregateState) and live.state.partitions:
            return False  # tasks write what it adds, which belongs to the run
        at_work = self.pool.is_busy(live.reader) or live.waits_for_ahead
        return at_work and len(live.ahead) < self.processor.slots

    def _after(self, live: LiveUnit) -> Group:
        """Return the trains of the run after those at work."""
        last: dict[str, int] = {}
        for ranges in (live.running, *(each.ranges for each in live.ahead)):
            last |= {name: number for name, (_, number) in ranges.items()}
        waiting = {
            name: [train for train in trains if train.info.number > last.get(name, 0)]
            for name, trains in self.run_queue.waiting(live).items()
        }
        return self.run_queue.next_group(live, waiting, self.clock.now())

    def _start(self, live: LiveUnit, group: Group) -> None:
        rows = {name: [t.rows for t in group.get(name, ())] for name in live.unit.inputs}
        taken = {each.place for each in live.ahead}
        place = next(n for n in range(len(taken) + 1) if n not in taken)
        ahead = Ahead(ranges_of(group), place)
        live.ahead.append(ahead)
        began = time.perf_counter()

        def took(future: Future[object]) -> None:
            ahead.done = True  # what failed is tried by the run itself, which then says why
            self.topology.dirty.add(live.unit.key)
            self.statistics.spent(live.unit.key, time.perf_counter() - began)
            if future.exception() is None and isinstance(table := future.result(), pa.Table):
                ahead.partials = table

        self.pool.submit(
            f"unit:ahead:{live.unit.key}:{place}",
            lambda: self.processor.panes(live.unit, rows, ahead=place),
            took,
        )
