"""Turns: lets the strategy choose among the ready units, and runs them."""

from concurrent.futures import Future
from dataclasses import dataclass

from penstock.clock import Clock
from penstock.engine.buffers import Train
from penstock.engine.processor import Processor
from penstock.engine.rows import SMALL_BYTES, SMALL_ROWS, in_memory
from penstock.engine.times import span_of
from penstock.errors import told
from penstock.model.trains import TrainInfo
from penstock.runtime.crew import Crew
from penstock.runtime.grouping import Group, coalesced, ranges_of, recorded
from penstock.runtime.journal import Journal
from penstock.runtime.live_unit import LiveUnit, Output
from penstock.runtime.plant import Plant
from penstock.schedule import ReadyUnit, Strategy

# Coalescing beyond a local relation would not keep the rows' order.
FLOW_ROWS, FLOW_BYTES = SMALL_ROWS, SMALL_BYTES
AGGREGATE_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Turns:
    """A unit runs once at a time; its runs are recorded before they happen."""

    plant: Plant
    crew: Crew
    journal: Journal
    clock: Clock
    processor: Processor
    strategy: Strategy

    def start(self, now: float) -> None:
        """Fill the free slots with ready units."""
        if self.crew.free_slots < 1:
            return
        ready = self._ready(now)
        while ready and self.crew.free_slots > 0:
            chosen = self.strategy.next([each for each, _, _ in ready.values()], now)
            if chosen is None or chosen not in ready:
                return
            _, live, group = ready.pop(chosen)
            self._start_unit(live, group)

    def _ready(self, now: float) -> dict[str, tuple[ReadyUnit, LiveUnit, Group]]:
        ready = {}
        for live in self.plant.units.values():
            if self.crew.is_busy(live.reader) or live.cause:
                continue
            group = self._group(live)
            trains = [train for each in (group or {}).values() for train in each]
            if group is not None and (trains or live.must_end or live.replay):
                rows = sum(train.rows.count for train in trains)
                since = min((train.info.arrived for train in trains), default=now)
                ready[live.unit.key] = (ReadyUnit(live.unit.key, rows, since), live, group)
        return ready

    def _group(self, live: LiveUnit) -> Group | None:
        """Return the trains of the unit's next run, or None while a recorded run must wait."""
        waiting = {
            name: buffer.waiting(live.reader)
            for name in live.unit.inputs
            if (buffer := self.plant.buffers.get(name)) is not None
        }
        if live.replay:
            return recorded(waiting, live.replay[0].inputs)
        if live.must_end:
            return {}
        limits = (AGGREGATE_ROWS,) if live.unit.aggregate is not None else (FLOW_ROWS, FLOW_BYTES)
        return {name: coalesced(trains, *limits) for name, trains in waiting.items() if trains}

    def _start_unit(self, live: LiveUnit, group: Group) -> None:
        number = live.runs + 1
        if live.replay:
            live.replay.popleft()
        else:
            self.journal.record_run(live.reader, number, ranges_of(group))
        self.crew.submit(
            live.reader,
            lambda: live.execute(self.processor, number, group),
            lambda future: self._ran(live, number, group, future),
        )

    def _ran(self, live: LiveUnit, number: int, group: Group, future: Future[object]) -> None:
        error = future.exception()
        if isinstance(error, Exception):
            live.put_back(number, ranges_of(group))
            live.cause = told(error)
            self.plant.fail_readers(live.unit.key, live.cause)
            return
        output = future.result()
        assert isinstance(output, Output)  # noqa: S101  (what `execute` returns)
        live.runs = number
        buffer = self.plant.buffers.open(live.unit.key, live.unit.root.schema)
        buffer.append(self._train(live, number, group, output))
        for name, trains in group.items():
            if trains and (source := self.plant.buffers.get(name)) is not None:
                source.advance(live.reader, trains[-1].info.number)

    def _train(self, live: LiveUnit, number: int, group: Group, output: Output) -> Train:
        """Return the run's output as the train of the same number."""
        times = live.unit.root.times
        first, last = (span_of(output.table, times[0].column) if times else None) or (None, None)
        arrivals = [train.info.arrived for each in group.values() for train in each]
        arrived = min(arrivals, default=self.clock.now())
        rows = in_memory(output.table)
        size, mark = rows.memory_bytes, output.watermark
        return Train(TrainInfo(number, rows.count, size, arrived, first, last, mark), rows)
