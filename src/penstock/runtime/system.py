"""One running Penstock: all its parts, built in the order in which they need each other."""

import gc
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from penstock.clock import Clock
from penstock.engine.actions.call import Callables, Function
from penstock.engine.allowed import Allowed
from penstock.engine.sinks.sink import SinkSurroundings
from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.application.spark_life import death_told
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.spark.jobs.rehearsal_processor import rehearsal_processors
from penstock.engine.spark.user_aggregates import UserAggregates
from penstock.engine.tables import Tables
from penstock.engine.trains.buffers import DEFAULT_BOUNDS, BufferBounds, BufferPool
from penstock.engine.trains.train_files import LargeBound
from penstock.errors import SparkDiedError
from penstock.functions.operators.function import Function as StreamFunction
from penstock.model.functions.user_aggregates import UserAggregate
from penstock.runtime.definitions.definition_binder import DefinitionBinder
from penstock.runtime.definitions.definitions import Definitions
from penstock.runtime.definitions.function_definitions import FunctionDefinitions
from penstock.runtime.definitions.grids import BaseDefinitions, PerspectiveDefinitions
from penstock.runtime.definitions.keyed_pushes import KeyedPushes
from penstock.runtime.definitions.kind import NOBODY, Newcomers
from penstock.runtime.definitions.query_definitions import EventDefinitions, QueryDefinitions
from penstock.runtime.definitions.recovery import Recovery
from penstock.runtime.definitions.rule_targets import RuleTargets, table_of
from penstock.runtime.definitions.rules import Rules
from penstock.runtime.definitions.steering_actions import SteeringActions
from penstock.runtime.definitions.streams import SourceMaker, Streams
from penstock.runtime.definitions.tables import TableDefinitions
from penstock.runtime.durable.home import Home
from penstock.runtime.durable.pending_actions import PendingActions
from penstock.runtime.durable.push_keys import PushKeys
from penstock.runtime.durable.result_index import ResultIndex
from penstock.runtime.durable.results import ResultLogs
from penstock.runtime.loop.actions import Acting, Doors
from penstock.runtime.loop.archiver import Archiving
from penstock.runtime.loop.checkpoint_writer import CheckpointWriter
from penstock.runtime.loop.conditions import ask_again, made
from penstock.runtime.loop.control import Control
from penstock.runtime.loop.deliveries import Deliveries
from penstock.runtime.loop.dispatch.dispatcher import Dispatcher
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.loop.quiescence import Quiescence
from penstock.runtime.loop.source_poller import SourcePoller
from penstock.runtime.loop.supervisor import DEFAULTS, Duties, LoopStages, Settings, Supervisor
from penstock.runtime.loop.trigger_batches import ActionLanes, TriggerBatches
from penstock.runtime.loop.warm_up import WarmUp
from penstock.runtime.names.directory import Directory
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.runtime.names.stream_types import StreamTypes
from penstock.runtime.quality.cluster_slots import ClusterSlots
from penstock.runtime.quality.quality import Quality
from penstock.runtime.queries.admission import Admission
from penstock.runtime.queries.contents import Contents
from penstock.runtime.queries.late_rows import LateRows
from penstock.runtime.queries.live_queries import DeliveredBefore, LiveQueries
from penstock.runtime.queries.query_lifecycle import QueryLifecycle
from penstock.runtime.queries.sink_places import SinkPlaces
from penstock.runtime.queries.subscriptions import Subscriptions
from penstock.runtime.queries.suspension import Suspension
from penstock.runtime.queries.tuner import Tuner
from penstock.runtime.sources.table_versions import TableVersions
from penstock.runtime.statements.changes import Changes, Punctuation
from penstock.runtime.statements.once import NamedRows, OneTimeSelects
from penstock.runtime.statements.questions import Questions
from penstock.runtime.statements.settings import StatementLimit
from penstock.runtime.statements.statements import Statements
from penstock.runtime.statements.written_files import WrittenFiles
from penstock.runtime.stores import Stores
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.inspected import Inspected
from penstock.runtime.work.worker_pool import WorkerPool
from penstock.schedule import RoundRobin

LOG = logging.getLogger("penstock")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a system is made of; each has a twin in memory, or can be given by tests."""

    home: Home
    sessions: Sessions
    stores: Stores
    clock: Clock
    bounds: BufferBounds = DEFAULT_BOUNDS
    aggregates: tuple[UserAggregate, ...] = ()
    actions: Mapping[str, Function] = field(default_factory=dict)
    allowed: Allowed = field(default_factory=Allowed)
    functions: tuple[StreamFunction, ...] = ()


class System:
    """Builds the parts, and opens and closes them together; what acts takes the parts it needs.

    Durable things come first, then names, what runs, those who hold it still and cut it, those who
    define and change it, and at last the supervisor, which has them do what it decides.
    """

    def __init__(self, parts: Parts, settings: Settings = DEFAULTS) -> None:
        """Build the parts; `recover` brings back what the home remembers, `start` sets it going."""
        self.home, self.sessions, self.clock = parts.home, parts.sessions, parts.clock
        self.catalog, self.journal = parts.stores.catalog, parts.stores.journal
        self._refuse_lost = parts.stores.refuse_lost
        self._allowed = parts.allowed
        self.warnings: list[str] = []
        self.result_index = ResultIndex(self.home.result_index)
        self.pending_actions = PendingActions(self.home.pending_actions)
        self.push_keys = PushKeys(self.home.push_keys, self.clock.now, settings.key_seconds)
        self.calls = Callables({name.lower(): each for name, each in parts.actions.items()})
        self._build_names(parts)
        self._build_floor(parts, settings)
        self._build_queries()
        self._build_definitions()
        self._build_supervisor(settings)
        self.tuner = Tuner(
            self.directory,
            self.quiescence,
            self.sessions,
            self.clock,
            self.home.path / "profiles.json",
        )
        self._build_statements(settings)
        self._newcomers: Newcomers = NOBODY

    def _build_names(self, parts: Parts) -> None:
        """Know what can be called before the queries come back that call it."""
        self.directory, self.types = Directory(), StreamTypes()
        self.functions, self.aggregates = KnownFunctions(), UserAggregates(self.sessions)
        for function in parts.functions:
            self.functions.register(function)
        for aggregate in parts.aggregates:
            self.aggregates.register(aggregate)
        self.binder = DefinitionBinder(
            self.directory, self.types, self.functions, self.aggregates, self.sessions
        )
        self.places = SinkPlaces(self.home.path, self.directory, self.allowed)

    def _build_floor(self, parts: Parts, settings: Settings) -> None:
        """Build what runs, and what holds it still and cuts it."""
        home, clock, journal = self.home, self.clock, self.journal
        tables = Tables(self.sessions, home.spill, self.allowed, clock)
        self.tables = TableVersions(tables, home.tables, clock)
        buffers, note = BufferPool(home.spill, parts.bounds), self.catalog.set_state
        self.topology = Topology(buffers, home.late, note, tables=self.tables)
        self.processor = Processor(
            self.sessions,
            home.spill,
            settings.run_seconds,
            settings.limits.driver_rows,
            LargeBound(settings.limits.large_rows, settings.limits.large_bytes),
            LargeBound(settings.limits.state_rows, settings.limits.state_bytes),
        )
        self.pool = WorkerPool(settings.slots or self.processor.slots)
        self._work = (self.topology, self.pool, journal, clock)
        self._dispatcher = Dispatcher(
            *self._work, self.processor, RoundRobin(), limits=settings.limits
        )
        self.control = Control(self._dispatcher, settings.strategy, settings.batching)
        self.statistics = self._dispatcher.statistics
        shedding = self._dispatcher.run_queue.shedding_controller
        self.quality = Quality(self.topology, self.statistics, shedding, self.pool.slots)
        self.cutter = GraphCutter(self.topology, self.control, clock, share=settings.share)
        seconds = settings.checkpoint_seconds
        self.checkpoints = CheckpointWriter(
            self.topology, self.control, journal, home.state, clock, seconds
        )
        self._deliveries = Deliveries(*self._work, settings.limits, timings=self.statistics.timings)
        self.quiescence = Quiescence(self.topology, self.pool, self._deliveries, self.checkpoints)

    def _build_queries(self) -> None:
        """Build those who let queries run, wait, be suspended, and be read."""
        topology, catalog, cutter = self.topology, self.catalog, self.cutter
        logs = ResultLogs(self.home.results, self.result_index)
        self.contents = Contents(self.directory, catalog, topology, logs)
        self.late = LateRows(self.directory, self.home.late)
        delivered = DeliveredBefore(self.journal, logs, self.allowed, self.warn)
        around = SinkSurroundings(self.home.identity, self.allowed)
        self.queries = LiveQueries(
            topology, catalog, cutter, delivered, self.late, self.clock, around
        )
        self.admission = Admission(
            topology, catalog, cutter, self.quality, self.queries, self.clock
        )
        self.suspension = Suspension(topology, catalog, cutter, self.queries, self.clock)
        self.lifecycle = QueryLifecycle(
            self.directory, catalog, self.queries, self.suspension, self.places
        )
        self.subscriptions = Subscriptions(self.directory, self.quiescence, self.queries)

    def _build_definitions(self) -> None:
        """Build those who make, drop and bring back what has a name."""
        directory, topology = self.directory, self.topology
        sources = SourceMaker(self.sessions, self.clock, self.allowed, self.pool.wake)
        self.streams = Streams(
            directory,
            topology,
            self.home,
            sources,
            self.places,
            self.binder.analyst,
            self.warn,
            self.push_keys,
        )
        self.keyed_pushes = KeyedPushes(self.streams.keyed_source, self.push_keys)
        targets = RuleTargets(self.binder, self.contents, self.allowed, self.calls)
        lanes = ActionLanes(topology, self.pending_actions)
        self.rules = Rules(directory, self.catalog, topology, self.cutter, lanes, targets)
        self.definitions = Definitions(
            self.catalog,
            directory,
            self.types,
            self.functions,
            {
                "STREAM": self.streams,
                "TABLE": TableDefinitions(directory, self.tables),
                "QUERY": QueryDefinitions(
                    self.binder, self.queries, self.admission, self.places, self.processor
                ),
                "EVENT": EventDefinitions(self.binder, self.queries),
                "RULE": self.rules,
                "BASE": BaseDefinitions(directory, self.allowed),
                "PERSPECTIVE": PerspectiveDefinitions(directory),
            },
        )
        self._recovery = Recovery(
            self.home,
            self.journal,
            self.definitions,
            self.cutter,
            self.queries,
            self.rules,
            self.warn,
        )

    def _build_supervisor(self, settings: Settings) -> None:
        """Build the thread that steps, with all that it starts and has others do."""
        steering = SteeringActions(self.quiescence, self.cutter, self.lifecycle, self.rules)
        doors = Doors(
            self.streams.keyed_source,
            partial(table_of, self.directory),
            steering.perform,
            self.allowed,
            self.calls,
            self.contents.rows,
        )
        acting = Acting(
            self.pending_actions,
            self.clock,
            partial(made, self.processor),
            doors,
            partial(ask_again, self.processor, self.contents.rows),
        )
        warm_up = self._warm_up(settings)
        stages = LoopStages(
            self._deliveries,
            TriggerBatches(*self._work, self.processor, acting, self.rules.lanes, settings.limits),
            self._dispatcher,
            Archiving(self.topology, self.pool, self.clock),
            warm_up,
            SourcePoller(*self._work, self.statistics, is_held=warm_up.holds),
        )
        given = settings.slots is not None
        self._slots = ClusterSlots(self.processor, self.pool, self.quality, are_given=given)
        duties = Duties(self.suspension.obey, self.admission.admit, self._look_around)
        self.supervisor = Supervisor(
            self.quiescence, self.cutter, self.checkpoints, stages, self.quality, duties
        )

    def _look_around(self, now: float) -> None:
        """See whether the home is still ours, and how much the cluster can do."""
        self._refuse_lost()
        self._slots.follow(now)

    def _warm_up(self, settings: Settings) -> WarmUp:
        seconds, driver_rows = settings.warm_seconds, settings.limits.driver_rows
        self._rehearsals = rehearsal_processors(
            self.sessions, self.home.spill, seconds, self.aggregates.known, driver_rows
        )
        return WarmUp(self.topology, self.pool, self._rehearsals, seconds)

    def _build_statements(self, settings: Settings) -> None:
        """Build those who carry out statements."""
        self.inspected = Inspected(
            self.directory,
            self.types,
            self.functions,
            self.tables,
            self.catalog,
            self.supervisor,
            self.journal,
            self.pending_actions,
            self.sessions,
            self.clock,
        )
        self.stream_functions = FunctionDefinitions(self.catalog, self.binder)
        limit = StatementLimit(self.processor, self.sessions, settings.statement_seconds)
        rows = NamedRows(self.contents, self.late, self.home, self.rules, self.inspected)
        changes = Changes(
            self.definitions,
            self.stream_functions,
            self.lifecycle,
            self.rules,
            Punctuation(self.binder, self.cutter, self.journal, self.clock),
            self.cutter,
        )
        questions = Questions(
            self.inspected,
            OneTimeSelects(rows, self.binder, limit, self.allowed, settings.limits.driver_rows),
            self.tuner,
            self.admission,
            WrittenFiles(self.home, self.allowed),
        )
        self.statements = Statements(
            self.quiescence, self.admission, changes, questions, self.binder
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
        self._newcomers = self._recovery.recover(self.clock.now())

    def start(self) -> None:
        """Start the loop; `complete` adds what was defined after the last checkpoint.

        What stands now, modules above all, is no garbage soon: Python's collector need not walk it
        time and again, which takes a tenth of a second in which nothing else runs.
        """
        gc.freeze()
        self.supervisor.start()
        self.tuner.start()

    def complete(self) -> None:
        """Start what was defined after the last checkpoint, once recorded runs are done again.

        That may take long, as long as the system ran after its last checkpoint.
        """
        if self._newcomers != NOBODY:
            with self.quiescence.between_runs():
                self._recovery.add(self._newcomers)
        self._newcomers = NOBODY

    def close(self) -> None:
        """Finish what runs, write a checkpoint, let go of everything but Spark."""
        self.tuner.stop()
        self.supervisor.stop()
        for processor in (self.processor, *self._rehearsals):
            processor.close_lanes()
        topology = self.topology
        for held in (topology.queries, topology.suspended, topology.waiting):
            for query in held.values():
                query.end()
                query.close()
        for source_reader in topology.source_readers.values():
            with suppress(SparkDiedError), death_told():
                source_reader.interface.close()
        self.tables.close()
        stores = (self.journal, self.pending_actions, self.push_keys, self.catalog)
        for each in (*stores, self.result_index):
            each.close()
        self.home.seal()
        self.home.close()
