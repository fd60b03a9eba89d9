"""A query that runs: reads its root's trains and hands their rows to its sink and subscribers."""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.clock import Clock
from penstock.engine.sinks.sink import Delivery, Sink
from penstock.engine.spark.application.spark_life import refuse_dead
from penstock.engine.trains.buffers import Train
from penstock.engine.trains.types import arrow_schema
from penstock.errors import PenstockError, SinkError
from penstock.model.definitions import QueryDefinition, QueryState
from penstock.model.schema import Schema
from penstock.plan.operators import Operator, key, walk
from penstock.plan.operators.lateness import judges
from penstock.plan.shedding.gated import shows_tuples
from penstock.runtime.durable.journal import Journal, Ranges, RecordedRun
from penstock.runtime.durable.results import ResultLog
from penstock.runtime.work.meter import Meter
from penstock.runtime.work.promise import Promise
from penstock.runtime.work.subscription import Subscription

# Seconds before each new try at a sink that failed; a sink that is down for longer holds its
# query, and only that one.
RETRY_SECONDS = (0.1, 0.5, 2.0)

READER = "query:"  # what the name of a query among readers begins with

Tap = Callable[[Delivery], None]


@dataclass(frozen=True, slots=True)
class Away:
    """Since when a query is suspended, and what had come of each of its streams by then."""

    since: float
    rows: Mapping[str, int]


@dataclass(slots=True)
class LiveQuery:
    """One query's way out; `delivered` is the number of its last delivery that is settled.

    `rows_settled` are the rows of all deliveries up to that one; the meter may have more.

    `missed_rows` are the tuples that went by while it was suspended, `away` says that it is.

    `since` is when it was put in: before that nothing could be answered.

    `in_hand` says that a delivery that is under way needs its trains no more.

    `reader` is its name among its root's readers and in the journal, `input` the key of the
    buffer that it reads. `nodes` are its root and all below it, inputs first, by their keys;
    `shows_tuples` says whether its rows are tuples or pairs, and not made of many. `foreign` are
    those nodes that belong to queries that it reads, `judges` those whose late tuples are its own.
    """

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
    since: float = -math.inf
    opened: set[int] = field(default_factory=set)
    in_hand: bool = False
    missed_rows: int = 0
    away: Away | None = None
    foreign: frozenset[str] = frozenset()
    promise: Promise | None = field(init=False)
    reader: str = field(init=False)
    input: str = field(init=False)
    nodes: Mapping[str, Operator] = field(init=False, repr=False)
    shows_tuples: bool = field(init=False)
    judges: tuple[str, ...] = field(init=False, repr=False)
    rows_settled: int = 0
    _recorded: int | None = field(init=False, default=None)
    _out: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.reader, self.input = f"{READER}{self.name.lower()}", key(self.root)
        self.promise = Promise.of(self.definition.goals)
        self.nodes = {key(node): node for node in walk(self.root)}
        self.shows_tuples = shows_tuples(self.root)
        self.judges = tuple(key(each) for each in judges(self.root, self.foreign))

    def alter(self, definition: QueryDefinition) -> None:
        """Go on under other goals; while quiesced."""
        self.definition = definition
        self.promise = Promise.again(self.promise, definition.goals)

    @property
    def name(self) -> str:
        """Return the query's name."""
        return self.definition.name

    def put_out(
        self, trains: Sequence[Train], journal: Journal, clock: Clock, taps: Sequence[Tap]
    ) -> "PutOut | None":
        """Hand the trains' rows over as one delivery; where all are empty there is none.

        It is done once the journal has noted it and `took` has been told.
        """
        number, count = self.delivered + 1, sum(train.rows.count for train in trains)
        again = number <= self._last_recorded(journal)
        if count and not taps and self._is_only_logged(trains):
            paths = [path for train in trains for path in train.rows.paths]
            self.log.append_files(number, count, paths, arrow_schema(self.root.schema))
            self.in_hand = True
            return PutOut(self, trains, number, count, again)
        delivery = Delivery(self.name, number, gather(trains, self.root.schema))
        self.in_hand = True
        if not count:
            return None
        for sink in self.sinks:
            if sink.repeatable or not again:
                self._write(sink, delivery, clock)
        self.log.append(delivery)
        if not again:
            for tap in taps:
                tap(delivery)
        return PutOut(self, trains, number, count, again, delivery)

    def _is_only_logged(self, trains: Sequence[Train]) -> bool:
        """Say whether nobody reads the rows of trains that tasks wrote."""
        read = self.sinks or self.promise is not None
        read = read or any(not each.closed for each in self.subscriptions)
        full = (train.rows for train in trains if train.rows.count)
        return not read and all(rows.table is None and rows.in_order for rows in full)

    def took(self, out: "PutOut", now: float) -> None:
        """Hand subscribers a delivery that the journal has noted, and count it."""
        self._out = out.number
        self._recorded = max(self._recorded or 0, self._out)
        # In place, and over a copy: a client may subscribe while a sink writes.
        for closed in [each for each in self.subscriptions if each.closed]:
            self.subscriptions.remove(closed)
        for subscription in list(self.subscriptions):
            subscription.deliver(out.delivery)
        self.meter.passed(out.count, now)
        if not out.again:  # else it is timed already, and what is between was no work of ours
            self._time(out, now)

    def _time(self, out: "PutOut", now: float) -> None:
        for info in (train.info for train in out.trains if train.rows.count):
            ready = max(info.ready, self.since)
            self.meter.took(info.rows, now - info.arrived, now - ready, now)
        if self.promise is not None:
            self.promise.took(out.trains, out.delivery.rows, now)

    def settle(self, run: int) -> None:
        """Count a run as done, with what it delivered; only the supervisor's thread does.

        A checkpoint does not wait for sinks: were the delivery counted before its run, a replay
        would deliver the same rows again under the next number.
        """
        self.runs, self.delivered = run, max(self.delivered, self._out)
        self.rows_settled = self.meter.rows

    def _last_recorded(self, journal: Journal) -> int:
        """Return the number of the last delivery that the journal has; only we add to them."""
        if self._recorded is None:
            self._recorded = journal.last_delivery(self.reader)
        return self._recorded

    def put_back(self, number: int, inputs: Ranges) -> None:
        """Do a run again later that failed; it stays recorded."""
        self.replay.appendleft(RecordedRun(self.reader, number, inputs))

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
        """Close the sinks."""
        for sink in self.sinks:
            if id(sink) in self.opened:
                sink.close()
        self.opened.clear()


@dataclass(frozen=True, slots=True)
class PutOut:
    """A delivery that a query's sinks and log have; `again` says that the journal has it, too.

    Nobody has read the rows of one that is not `held`.
    """

    query: LiveQuery
    trains: Sequence[Train]
    number: int
    count: int
    again: bool
    held: Delivery | None = None

    @property
    def delivery(self) -> Delivery:
        """Return the rows, read where nobody has yet."""
        if self.held is not None:
            return self.held
        return Delivery(self.query.name, self.number, gather(self.trains, self.query.root.schema))


def deliver_together(
    loads: Sequence[tuple[LiveQuery, Sequence[Train]]],
    journal: Journal,
    clock: Clock,
    taps: Sequence[Tap],
) -> list[Exception | None]:
    """Hand over one delivery of each query, and return what failed, query by query.

    The journal notes those that did not fail in one step.
    """
    failures: list[Exception | None] = []
    out: list[PutOut] = []
    for query, trains in loads:
        try:
            done = query.put_out(trains, journal, clock, taps)
        except Exception as error:  # whatever a sink or a tap raises holds its query, and no other
            refuse_dead(error)
            failures.append(error)
            continue
        failures.append(None)
        out += [done] if done is not None else []
    with journal.together():
        for each in out:
            if not each.again:
                journal.record_delivery(each.query.reader, each.number, each.count)
    now = clock.now()
    for each in out:
        each.query.took(each, now)
    return failures


def gather(trains: Sequence[Train], schema: Schema) -> pa.Table:
    """Return the rows of the trains, one after the other."""
    tables = [train.rows.to_table(schema) for train in trains]
    return tables[0] if len(tables) == 1 else pa.concat_tables(tables)
