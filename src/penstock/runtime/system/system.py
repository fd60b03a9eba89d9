"""One running Penstock: a home, a Spark, the definitions, and the supervisor over them."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from penstock.catalog import Catalog
from penstock.clock import Clock
from penstock.engine import sinks
from penstock.engine.actions.call import Callables, Function
from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.sinks.files import FilesSink
from penstock.engine.sinks.sink import Sink
from penstock.engine.spark.analysis import SparkAnalyst
from penstock.engine.spark.processor import Processor
from penstock.engine.spark.session import Sessions
from penstock.engine.spark.spark_life import death_told
from penstock.engine.spark.user_aggregates import UserAggregates
from penstock.engine.tables import Tables
from penstock.engine.trains.buffers import DEFAULT_BOUNDS, Bounds, BufferPool
from penstock.engine.trains.rows import in_memory
from penstock.errors import BadQueryError, PenstockError, SparkDiedError
from penstock.functions.operators.function import Function as StreamFunction
from penstock.model.definitions import QueryState
from penstock.model.user_aggregates import UserAggregate
from penstock.plan.operators import is_stateful, key, walk
from penstock.runtime.durable.firings import Firings
from penstock.runtime.durable.home import Home
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.result_index import ResultIndex
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.durable.results import ResultLog
from penstock.runtime.loop.acting import Acting, Doors
from penstock.runtime.loop.archiving import Archiving
from penstock.runtime.loop.asking import ask, made
from penstock.runtime.loop.checkpoint_writer import CheckpointWriter
from penstock.runtime.loop.control import Control
from penstock.runtime.loop.deliveries import Deliveries
from penstock.runtime.loop.dispatcher import Dispatcher
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.loop.intake import Intake
from penstock.runtime.loop.occasions import Lanes, Occasions
from penstock.runtime.loop.quiescence import Quiescence
from penstock.runtime.loop.supervisor import DEFAULTS, Settings, Stages, Supervisor
from penstock.runtime.names.directory import Directory, KnownEvent, KnownQuery, watching
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.runtime.names.stream_types import StreamTypes
from penstock.runtime.quality.quality import Quality
from penstock.runtime.quality.suspending import Orders
from penstock.runtime.sources.table_versions import TableVersions
from penstock.runtime.system.held import rows_held
from penstock.runtime.system.inspected import Inspected
from penstock.runtime.system.recovery import Newcomers, add_newcomers, recover
from penstock.runtime.system.rules import stream_of, table_of
from penstock.runtime.system.steering import measure, steer
from penstock.runtime.system.tuning import Tuner
from penstock.runtime.system.waiting import admit
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.subscription import MAX_ROWS, Subscription
from penstock.runtime.work.worker_pool import WorkerPool
from penstock.schedule import RoundRobin

LOG = logging.getLogger("penstock")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a system is made of; each has a twin in memory, or can be given by tests."""

    home: Home
    sessions: Sessions
    catalog: Catalog
    journal: Journal
    clock: Clock
    bounds: Bounds = DEFAULT_BOUNDS
    aggregates: tuple[UserAggregate, ...] = ()
    actions: Mapping[str, Function] = field(default_factory=dict)
    allowed: Allowed = field(default_factory=Allowed)
    functions: tuple[StreamFunction, ...] = ()


class Obedience:
    """What the supervisor has done about queries."""

    def __init__(self, system: "System") -> None:
        self._system = system

    def obey(self, orders: Orders) -> None:
        measure(self._system, orders)

    def admit(self) -> None:
        admit(self._system)


class System:
    """Holds everything together; statements and clients act on it, its supervisor runs it."""

    def __init__(self, parts: Parts, settings: Settings = DEFAULTS) -> None:
        """Build the parts; `recover` brings back what the home remembers, `start` sets it going."""
        self.home, self.sessions, self.clock = parts.home, parts.sessions, parts.clock
        self.catalog, self.journal = parts.catalog, parts.journal
        self.warnings: list[str] = []
        self.directory, self.result_index = Directory(), ResultIndex(self.home.result_index)
        self.types, self.functions = StreamTypes(), KnownFunctions()
        for function in parts.functions:  # before the queries that call them come back
            self.functions.register(function)
        self.analyst = SparkAnalyst(self.sessions.analysis)
        self.aggregates = UserAggregates(self.sessions)
        self.knows_bounds = False
        for each in parts.aggregates:  # before the queries that call them come back
            self.aggregates.register(each)
        tables = Tables(self.sessions, self.home.spill, self.allowed)
        self.tables = TableVersions(tables, self.home.tables, self.clock)
        buffers = BufferPool(self.home.spill, parts.bounds)
        self.topology = Topology(
            buffers, self.home.late, self.catalog.set_state, tables=self.tables
        )
        self.processor = Processor(self.sessions, self.home.spill, settings.run_seconds)
        self.statement_seconds = settings.statement_seconds
        self.firings, self.calls, self._allowed = (
            Firings(self.home.firings),
            Callables({name.lower(): each for name, each in parts.actions.items()}),
            parts.allowed,
        )
        clock, topology = self.clock, self.topology
        self.pool = WorkerPool(settings.slots or self.processor.slots)
        work = (topology, self.pool, self.journal, clock)
        dispatcher = Dispatcher(*work, self.processor, RoundRobin(), limits=settings.limits)
        self.control = Control(dispatcher, settings.strategy, settings.batching)
        self.statistics = dispatcher.statistics
        shedding = dispatcher.run_queue.shedding_controller
        self.quality = Quality(topology, self.statistics, shedding, self.pool.slots)
        self.cutter = GraphCutter(topology, self.control, clock, share=settings.share)
        self.checkpoints = CheckpointWriter(
            topology,
            self.control,
            self.journal,
            self.home.state,
            clock,
            settings.checkpoint_seconds,
        )
        deliveries = Deliveries(*work, settings.limits)
        self.quiescence = Quiescence(topology, self.pool, deliveries, self.checkpoints)
        self.lanes = Lanes(topology, self.firings)
        stages = Stages(
            deliveries,
            Occasions(*work, self.processor, self._acting(), self.lanes, settings.limits),
            dispatcher,
            Archiving(topology, self.pool, clock),
            Intake(*work, self.statistics),
        )
        self.supervisor = Supervisor(
            self.quiescence, self.cutter, self.checkpoints, stages, self.quality, Obedience(self)
        )
        self.tuner = Tuner(self)
        self._newcomers = Newcomers()

    def _acting(self) -> Acting:
        doors = Doors(
            lambda name: stream_of(self, name),
            lambda name: table_of(self, name),
            lambda what: steer(self, what),
            self.allowed,
            self.calls,
            lambda name, reading: rows_held(self, name, reading),
        )
        return Acting(
            self.firings,
            self.clock,
            lambda rule, action, rows: made(self.processor, rule, action, rows),
            doors,
            lambda rule, rows: ask(
                self.processor,
                f"again:{key(rule.bound.leaf)}",
                [rule],
                [in_memory(rows)],
                doors.held,
            ),
        )

    def warn(self, told: str) -> None:
        """Say what was found wrong and has been dealt with; it is kept for those who ask."""
        self.warnings.append(told)
        LOG.warning(told)

    def allowed(self) -> Allowed:
        """Return what may be reached: what the connection was given, and what the home says."""
        return self._allowed | self.home.allowed()

    def recover(self) -> None:
        """Bring back what the home remembers, before anything runs."""
        self._newcomers = recover(self)

    def start(self) -> None:
        """Let everything flow; what was defined last before a death comes with `complete`."""
        self.supervisor.start()
        self.tuner.start()

    def complete(self) -> None:
        """Let what was defined after the last checkpoint flow, once recorded runs are done again.

        That may take long, as long as the system ran after its last checkpoint.
        """
        add_newcomers(self, self._newcomers)
        self._newcomers = Newcomers()

    def close(self) -> None:
        """Finish what runs, write a checkpoint, let go of everything but Spark."""
        self.tuner.stop()
        self.supervisor.stop()
        self.processor.close_lanes()
        topology = self.topology
        for query in (
            *topology.queries.values(),
            *topology.suspended.values(),
            *topology.waiting.values(),
        ):
            query.end()
            query.close()
        for feed in self.topology.feeds.values():
            with suppress(SparkDiedError), death_told():
                feed.interface.close()
        self.journal.close()
        self.firings.close()
        self.catalog.close()
        self.result_index.close()
        self.home.seal()
        self.home.close()

    # -- queries; while quiesced -----------------------------------------------------------

    def run_query(self, known: KnownQuery, state: QueryState = QueryState.RUNNING) -> LiveQuery:
        """Put a query into the topology, behind what has been delivered under its name."""
        query = self.put_query(known, state)
        self.compare_results(query)
        return query

    def put_query(self, known: KnownQuery, state: QueryState) -> LiveQuery:
        """Put a query into the topology whose results are not compared with the journal yet."""
        query = self.live_query(known, state)
        self.topology.finished.pop(query.name.lower(), None)
        self.topology.queries[query.name.lower()] = query
        return query

    def compare_results(self, query: LiveQuery) -> None:
        """Set aside what a query's sink and log have and the journal does not know.

        Recorded runs are done again with the same rows, so what they gave may stay.
        """
        known = max(self.journal.last_delivery(query.reader), query.delivered + len(query.replay))
        query.log.forget_above(known)
        for sink in query.sinks:
            if isinstance(sink, FilesSink):
                self._set_aside(query, sink, known)

    def _set_aside(self, query: LiveQuery, sink: FilesSink, known: int) -> None:
        try:
            self.allowed().require_writable(sink.path)
            told = sink.set_aside(known)
        except PenstockError as error:
            self.topology.set_state(query, QueryState.FAILED, str(error))
            return
        if told:
            self.warn(f"query {query.name}: {told}")

    def live_query(self, known: KnownQuery, state: QueryState = QueryState.RUNNING) -> LiveQuery:
        """Return a query behind what has been delivered under its name, outside of the topology."""
        definition = known.definition
        log = self.result_log(definition.name)
        query = LiveQuery(definition, known.root, log, state=state, foreign=known.foreign)
        if (sink := sinks.build(definition)) is not None:
            query.sinks.append(sink)
        query.delivered = self.journal.last_delivery(query.reader)
        query.meter.rows = query.rows_settled = self.journal.delivered_rows(query.reader)
        if definition.stop_after is not None and definition.stop_after.interval is not None:
            query.deadline = self.clock.now() + definition.stop_after.interval.total_seconds()
        return query

    def withdraw(self, name: str) -> None:
        """Take a query out of the topology; what only it needed goes with it."""
        query = self.topology.standing(name)
        self.topology.queries.pop(name.lower(), None)
        self.topology.suspended.pop(name.lower(), None)
        self.topology.waiting.pop(name.lower(), None)
        if query is not None:
            query.end()
            query.close()
            self.topology.gone.add(query.reader)
        self.topology.finished.pop(name.lower(), None)
        self.cutter.changed()

    def forget_late(self, known: KnownQuery) -> None:
        """Remove the late rows of windows that only this query has: it begins anew, or is gone."""
        stateful = [key(node) for node in walk(known.root) if is_stateful(node)]
        kept = {name: list(self.home.late(name).glob("*.parquet")) for name in stateful}
        if not any(kept.values()):  # looked at first: the other queries may be many
            return
        others = {
            key(node)
            for each in self.directory.queries()
            if each.definition.name.lower() != known.definition.name.lower()
            for node in walk(each.root)
        }
        for path in (path for name, paths in kept.items() if name not in others for path in paths):
            path.unlink(missing_ok=True)

    def result_log(self, name: str) -> ResultLog:
        """Return a query's result log."""
        return ResultLog(self.home.results(name.lower()), name, self.result_index)

    @property
    def inspected(self) -> Inspected:
        """Return what views read."""
        return Inspected(
            self.directory,
            self.types,
            self.functions,
            self.tables,
            self.catalog,
            self.supervisor,
            self.journal,
            self.firings,
            self.sessions,
            self.clock,
        )

    # -- for clients ---------------------------------------------------------------------

    def push_source(self, name: str) -> Push:
        """Return the source of a push stream."""
        known = self.directory.stream(name)
        feed = self.topology.feeds[key(known.scan)]
        if not isinstance(feed.interface, Push):
            raise BadQueryError(f"stream {name} takes no pushed rows", hint="define it FROM push()")
        return feed.interface

    def subscribe(
        self, name: str, after: Position | None = START, max_rows: int = MAX_ROWS
    ) -> Subscription:
        """Return a reader of a query's results: after a position, or (None) from now on.

        Who subscribes to an event lets its detections be kept from then on, in mode recent.
        """
        if isinstance(event := self.directory.get(name), KnownEvent):
            self._watch(event)
        else:
            self.directory.query(name)
        with self.quiescence.resting():
            query = self.topology.standing(name)
            log = query.log if query is not None else self.result_log(name)
            subscription = Subscription(name, log=log, after=after, max_rows=max_rows)
            if query is not None:
                query.subscriptions.append(subscription)
                subscription.look()  # a sink's delivery may have come before it was there
            if query is None or query.state is QueryState.FINISHED:
                subscription.end()
        return subscription

    def _watch(self, event: KnownEvent) -> None:
        """Keep an event's detections as a query's rows are kept, unless that is done already."""
        name = event.definition.name
        entry = self.catalog.get(name)
        if entry is not None and entry.state is None:
            with self.quiescence.between_runs(), self.catalog.together():
                self.catalog.set_state(name, QueryState.RUNNING)
                self.run_query(watching(event))
                self.cutter.reconnect()

    def attach(self, name: str, sink: Sink) -> None:
        """Give a running query one more sink."""
        self.directory.query(name)
        with self.quiescence.resting():
            query = self.topology.standing(name)
            if query is None:
                raise BadQueryError(f"query {name} does not run", hint="RESUME QUERY first")
            query.sinks.append(sink)
