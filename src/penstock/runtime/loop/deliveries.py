"""Deliveries: hands the trains of the queries' roots to their sinks and subscribers.

What goes only to result logs, subscribers and taps goes together: one step of the journal and one
worker for all queries that have something, so that a thousand small ones cost little more than
one. A query with a sink of its own has a worker of its own: a slow or broken sink holds no other.
What waits for a sink is bounded: beyond that it is left out, and its query held with that cause.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from penstock.clock import Clock
from penstock.engine.trains.buffers import Buffer, Train
from penstock.errors import SinkError, describe
from penstock.model.definitions import QueryState
from penstock.model.trains import END_OF_TIME
from penstock.runtime.durable.journal import Journal
from penstock.runtime.quality.timings import Timings
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import READER, LiveQuery, Tap, deliver_together
from penstock.runtime.work.run_limits import RUN_LIMITS, RunLimits
from penstock.runtime.work.train_groups import coalesced, ranges_of, recorded
from penstock.runtime.work.worker_pool import SINK, Workers


@dataclass(frozen=True, slots=True)
class _Load:
    """The trains of a query's next delivery; one that is done again is in the journal already."""

    query: LiveQuery
    number: int
    trains: list[Train]
    again: bool

    def is_light(self, most: int) -> bool:
        """Say whether it is quick: it has no sink, and few rows."""
        return not self.query.sinks and sum(t.rows.count for t in self.trains) <= most


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What failed of deliveries that went together, query by query, and when they were done."""

    failures: Sequence[Exception | None]
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Deliveries:
    """A query delivers once at a time; what it takes is recorded before it is handed over."""

    topology: Topology
    pool: Workers
    journal: Journal
    clock: Clock
    limits: RunLimits = RUN_LIMITS
    taps: list[Tap] = field(default_factory=list)
    under_way: set[str] = field(default_factory=set)
    timings: Timings = field(default_factory=Timings)

    def start(self) -> None:
        """Start to deliver whatever waits."""
        self._leave_out_too_much()
        self._start(self._waited_for())
        for buffer in self.topology.buffers:
            if buffer.watermark == END_OF_TIME:  # also for one that came when all was over
                for query in self._free(buffer.readers()):
                    if self.topology.is_over(query):
                        self._finish(query)

    def start_light(self) -> None:
        """Start to deliver what waits and goes to no sink."""
        self._start(query for query in self._waited_for() if not query.sinks)

    def _leave_out_too_much(self) -> None:
        """Hold the queries whose sinks let too much wait, and let that go."""
        for buffer in self.topology.buffers.waited_for():
            for name in buffer.behind():
                query = self.topology.queries.get(name.removeprefix(READER))
                if query is not None and query.reader == name and query.sinks:
                    self._leave_out(query, buffer)

    def _leave_out(self, query: LiveQuery, buffer: Buffer) -> None:
        waiting, bound = buffer.waiting(query.reader), self.topology.buffers.bounds.queue_bytes
        if sum(train.info.size for train in waiting) <= bound:
            return
        if query.reader in self.under_way and not query.in_hand:
            return  # it is about to read them
        rows = sum(train.rows.count for train in waiting)
        query.runs += len(query.replay)  # these are in the journal, and over
        query.replay.clear()
        buffer.advance(query.reader, waiting[-1].info.number)
        cause = f"its sink is too slow: {rows:,} rows that waited for it were left out"
        hint = "RESUME lets it go on with what comes then"
        self.topology.set_state(query, QueryState.FAILED, describe(SinkError(cause, hint=hint)))

    def _waited_for(self) -> list[LiveQuery]:
        waited_for = self.topology.buffers.waited_for()
        return [query for buffer in waited_for for query in self._free(buffer.behind())]

    def _free(self, readers: Iterable[str]) -> list[LiveQuery]:
        """Return the queries among the readers that run and deliver nothing now."""
        names = (name for name in readers if name.startswith(READER))
        found = (self.topology.queries.get(name.removeprefix(READER)) for name in names)
        running = (each for each in found if each and each.state is QueryState.RUNNING)
        return [query for query in running if query.reader not in self.under_way]

    def _start(self, queries: Iterable[LiveQuery]) -> None:
        loads = [load for query in queries if (load := self._load(query)) is not None]
        if new := [load for load in loads if not load.again]:
            with self.journal.together():
                for load in new:
                    ranges = ranges_of({load.query.input: load.trains})
                    self.journal.record_run(load.query.reader, load.number, ranges)
        most = self.limits.light_rows
        self._submit([load for load in loads if load.is_light(most)])
        for load in loads:
            if not load.is_light(most):
                self._submit([load])

    def _load(self, query: LiveQuery) -> _Load | None:
        trains = self._next(query)
        if not trains:
            return None
        again = bool(query.replay)
        if again:
            query.replay.popleft()
        elif not any(train.rows.count for train in trains):
            self._passed(query, trains)  # nothing to deliver: nothing to remember
            return None
        return _Load(query, query.runs + 1, trains, again)

    def _next(self, query: LiveQuery) -> list[Train]:
        buffer = self.topology.buffers.get(query.input)
        waiting = buffer.waiting(query.reader) if buffer is not None else []
        if query.replay:
            found = recorded({query.input: waiting}, query.replay[0].inputs)
            again = (found or {}).get(query.input, [])
            return again if again == self._open(query, again) else []
        limits = self.limits
        return coalesced(self._open(query, waiting), limits.delivery_rows, limits.delivery_bytes)

    def _open(self, query: LiveQuery, trains: list[Train]) -> list[Train]:
        """Return the trains for which immediate rules have done what they had to."""
        gate = self.topology.gate(query.input)
        return trains if gate is None else [t for t in trains if t.info.number <= gate]

    def _submit(self, loads: Sequence[_Load]) -> None:
        if not loads:
            return
        self.under_way.update(load.query.reader for load in loads)
        work = [(load.query, load.trains) for load in loads]
        name = loads[0].query.reader
        self.pool.submit(
            f"{SINK}{name}" if loads[0].query.sinks else name,
            lambda: self._deliver(work),
            lambda future: self._delivered(loads, future),
        )

    def _deliver(self, work: Sequence[tuple[LiveQuery, Sequence[Train]]]) -> Outcomes:
        failures = deliver_together(work, self.journal, self.clock, self.taps)
        return Outcomes(failures, self.clock.now())

    def _delivered(self, loads: Sequence[_Load], future: Future[object]) -> None:
        self.under_way.difference_update(load.query.reader for load in loads)
        for load in loads:
            load.query.in_hand = False
        error = future.exception()
        if isinstance(error, Exception):
            found = Outcomes([error] * len(loads))
        else:
            told = future.result()
            assert isinstance(told, Outcomes)  # noqa: S101  (what `_deliver` returns)
            found = told
        for load, failure in zip(loads, found.failures, strict=True):
            if failure is None and not load.again:
                infos = (train.info for train in load.trains)
                self.timings.appended(load.query.reader, infos, found.at)
            self._settle(load, failure)

    def _settle(self, load: _Load, failure: Exception | None) -> None:
        query = load.query
        if self.topology.queries.get(query.name.lower()) is not query:
            return  # it was dropped or stopped meanwhile
        if failure is not None:
            if self._are_left_out(load):
                query.runs = load.number
            else:
                query.put_back(load.number, ranges_of({query.input: load.trains}))
            self.topology.set_state(query, QueryState.FAILED, describe(failure))
            return
        query.settle(load.number)
        self._passed(query, load.trains)

    def _are_left_out(self, load: _Load) -> bool:
        """Say whether the trains of a delivery have gone while it was under way."""
        buffer = self.topology.buffers.get(load.query.input)
        place = buffer.readers().get(load.query.reader, 0) if buffer is not None else 0
        return place >= load.trains[-1].info.number

    def _passed(self, query: LiveQuery, trains: list[Train]) -> None:
        if (buffer := self.topology.buffers.get(query.input)) is not None:
            buffer.advance(query.reader, trains[-1].info.number)
        if trains[-1].info.is_end:
            self._finish(query)

    def _finish(self, query: LiveQuery) -> None:
        self.topology.set_state(query, QueryState.FINISHED, "")
        query.end()
