"""Deliveries: hands the trains of the queries' roots to their sinks and subscribers."""

from concurrent.futures import Future
from dataclasses import dataclass, field

from penstock.clock import Clock
from penstock.engine.buffers import Train
from penstock.errors import told
from penstock.model.definitions import QueryState
from penstock.runtime.crew import Crew
from penstock.runtime.grouping import coalesced, ranges_of, recorded
from penstock.runtime.journal import Journal
from penstock.runtime.live_query import LiveQuery, Tap
from penstock.runtime.plant import Plant

TOGETHER_ROWS, TOGETHER_BYTES = 500_000, 64 << 20  # a delivery is a table in the driver


@dataclass(frozen=True, slots=True)
class Deliveries:
    """A query delivers once at a time; what it takes is recorded before it is handed over."""

    plant: Plant
    crew: Crew
    journal: Journal
    clock: Clock
    taps: list[Tap] = field(default_factory=list)

    def start(self) -> None:
        """Start to deliver whatever waits."""
        for query in list(self.plant.queries.values()):
            if query.state is QueryState.RUNNING and not self.crew.is_busy(query.reader):
                self._start_query(query)

    def _start_query(self, query: LiveQuery) -> None:
        trains = self._next(query)
        if not trains:
            if self.plant.is_over(query):  # also one that came when all was over
                self._finish(query)
            return
        number = query.runs + 1
        ranges = ranges_of({query.input: trains})
        if query.replay:
            query.replay.popleft()
        elif any(train.rows.count for train in trains):
            self.journal.record_run(query.reader, number, ranges)
        else:
            self._passed(query, trains)  # nothing to deliver: nothing to remember
            return
        self.crew.submit(
            query.reader,
            lambda: query.deliver(trains, self.journal, self.clock, self.taps),
            lambda future: self._delivered(query, number, trains, future),
        )

    def _next(self, query: LiveQuery) -> list[Train]:
        buffer = self.plant.buffers.get(query.input)
        waiting = buffer.waiting(query.reader) if buffer is not None else []
        if query.replay:
            found = recorded({query.input: waiting}, query.replay[0].inputs)
            return (found or {}).get(query.input, [])
        return coalesced(waiting, TOGETHER_ROWS, TOGETHER_BYTES)

    def _delivered(
        self, query: LiveQuery, number: int, trains: list[Train], future: Future[object]
    ) -> None:
        error = future.exception()
        if isinstance(error, Exception):
            query.put_back(number, ranges_of({query.input: trains}))
            self.plant.set_state(query, QueryState.FAILED, told(error))
            return
        future.result()
        query.runs = number
        self._passed(query, trains)

    def _passed(self, query: LiveQuery, trains: list[Train]) -> None:
        if (buffer := self.plant.buffers.get(query.input)) is not None:
            buffer.advance(query.reader, trains[-1].info.number)
        if trains[-1].info.is_end:
            self._finish(query)

    def _finish(self, query: LiveQuery) -> None:
        self.plant.set_state(query, QueryState.FINISHED, "")
        query.end()
