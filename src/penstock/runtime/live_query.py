"""A query that runs: reads its root's trains and hands their rows to its sink and subscribers."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.clock import Clock
from penstock.engine.buffers import Train
from penstock.engine.sinks.sink import Delivery, Sink
from penstock.errors import PenstockError, SinkError
from penstock.model.definitions import QueryDefinition, QueryState
from penstock.model.schema import Schema
from penstock.plan.operators import Operator, key
from penstock.runtime.journal import Journal, Ranges, RecordedRun
from penstock.runtime.meter import Meter
from penstock.runtime.results import ResultLog
from penstock.runtime.subscription import Subscription

# Seconds before each new try at a sink that failed; a sink that is down for longer holds its
# query, and only that one.
RETRY_SECONDS = (0.1, 0.5, 2.0)

Tap = Callable[[Delivery], None]


@dataclass(slots=True)
class LiveQuery:
    """One query's way out; `delivered` is the number of its last delivery."""

    definition: QueryDefinition
    root: Operator
    log: ResultLog
    sinks: list[Sink] = field(default_factory=list)
    state: QueryState = QueryState.RUNNING
    cause: str = ""
    runs: int = 0
    delivered: int = 0
    rows_in: int = 0
    late_rows: int = 0
    replay: deque[RecordedRun] = field(default_factory=deque)
    subscriptions: list[Subscription] = field(default_factory=list)
    meter: Meter = field(default_factory=Meter)
    deadline: float | None = None
    opened: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Return the query's name."""
        return self.definition.name

    @property
    def reader(self) -> str:
        """Return the query's name among its root's readers, and in the journal."""
        return f"query:{self.name.lower()}"

    @property
    def input(self) -> str:
        """Return the key of the buffer that it reads."""
        return key(self.root)

    def deliver(
        self, trains: Sequence[Train], journal: Journal, clock: Clock, taps: Sequence[Tap]
    ) -> None:
        """Hand the trains' rows over as one delivery; where all are empty there is none."""
        rows = gather(trains, self.root.schema)
        if rows.num_rows:
            delivery = Delivery(self.name, self.delivered + 1, rows)
            self._hand_over(delivery, journal, clock, taps)
            self.delivered = delivery.number
            now = clock.now()
            for train in trains:
                if train.rows.count:
                    self.meter.delivered(train.rows.count, now - train.info.arrived, now)

    def put_back(self, number: int, inputs: Ranges) -> None:
        """Do a run again later that failed; it stays recorded."""
        self.replay.appendleft(RecordedRun(self.reader, number, inputs))

    def _hand_over(
        self, delivery: Delivery, journal: Journal, clock: Clock, taps: Sequence[Tap]
    ) -> None:
        again = delivery.number <= journal.last_delivery(self.reader)
        for sink in self.sinks:
            if sink.repeatable or not again:
                self._write(sink, delivery, clock)
        self.log.append(delivery)
        if not again:
            for tap in taps:
                tap(delivery)
            journal.record_delivery(self.reader, delivery.number, delivery.rows.num_rows)
        self.subscriptions = [each for each in self.subscriptions if not each.closed]
        for subscription in self.subscriptions:
            subscription.deliver(delivery)

    def _write(self, sink: Sink, delivery: Delivery, clock: Clock) -> None:
        for wait in (*RETRY_SECONDS, None):
            try:
                if id(sink) not in self.opened:
                    sink.open()
                    self.opened.add(id(sink))
                sink.write(delivery)
            except PenstockError:
                if wait is None:
                    raise
            except OSError as error:
                if wait is None:
                    raise SinkError(f"the sink of {self.name} failed: {error}") from error
            else:
                return
            clock.sleep(wait or 0)

    def end(self) -> None:
        """Tell the subscribers that nothing more will come."""
        for subscription in self.subscriptions:
            subscription.end()

    def close(self) -> None:
        """Let go of the sinks."""
        for sink in self.sinks:
            if id(sink) in self.opened:
                sink.close()
        self.opened.clear()


def gather(trains: Sequence[Train], schema: Schema) -> pa.Table:
    """Return the rows of the trains, one after the other."""
    return pa.concat_tables([train.rows.to_table(schema) for train in trains])
