"""One running Penstock: a home, a Spark, the definitions, and the supervisor over them."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from penstock.catalog import Catalog, Entry
from penstock.clock import Clock
from penstock.engine import interfaces, sinks
from penstock.engine.actions.call import Callables, Function
from penstock.engine.analysis import SparkAnalyst, check_types
from penstock.engine.buffers import DEFAULT_BOUNDS, KEEP_TRAINS, Bounds, BufferPool
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.push import Push
from penstock.engine.processor import Processor
from penstock.engine.rows import Rows
from penstock.engine.session import Sessions
from penstock.engine.sinks.sink import Sink
from penstock.engine.tables import Tables
from penstock.engine.user_aggregates import UserAggregates
from penstock.errors import BadQueryError, PenstockError
from penstock.functions.function import Function as StreamFunction
from penstock.model.definitions import (
    FunctionDefinition,
    PythonFunction,
    QueryDefinition,
    QueryState,
    StreamDefinition,
)
from penstock.model.events import Mode
from penstock.model.user_aggregates import UserAggregate
from penstock.plan.bind import Binder
from penstock.plan.bind_aggregate import Emission
from penstock.plan.bind_event import EventBinder
from penstock.plan.bind_windows import MICROSECOND
from penstock.plan.bounds import definitions
from penstock.plan.once import names_in
from penstock.plan.operators import (
    EventTime,
    Operator,
    Scan,
    WindowAggregate,
    is_stateful,
    key,
    walk,
)
from penstock.plan.sampled import bind_sampled, why_whole
from penstock.plan.shed_by import bind_worth, by_worth, refuse_shed_by, shows_tuples
from penstock.plan.user_calls import marked
from penstock.runtime.acting import Acting, Doors
from penstock.runtime.archive import Archive
from penstock.runtime.asking import made
from penstock.runtime.checkpoint import (
    Manifest,
    knows,
    note_gone,
    restore_buffers,
    restore_finished,
    restore_query,
    restore_suspended,
    restore_unit,
    standing_in,
)
from penstock.runtime.directory import (
    Directory,
    KnownEvent,
    KnownQuery,
    KnownStream,
    KnownTable,
    watching,
)
from penstock.runtime.feed import Feed
from penstock.runtime.firings import Firings
from penstock.runtime.flows import FlowBinder, reads_of
from penstock.runtime.held import rows_held
from penstock.runtime.history import gone_before
from penstock.runtime.home import Home
from penstock.runtime.journal import Journal
from penstock.runtime.known_functions import KnownFunctions
from penstock.runtime.live_query import LiveQuery
from penstock.runtime.live_rule import LiveRule
from penstock.runtime.plant import Plant
from penstock.runtime.result_row import START, Position
from penstock.runtime.results import ResultLog
from penstock.runtime.rules import bring_back, restore, stand, stream_of, table_of
from penstock.runtime.shelf import ResultShelf
from penstock.runtime.steering import away, measure, steer
from penstock.runtime.stream_types import StreamTypes
from penstock.runtime.subscription import MAX_ROWS, Subscription
from penstock.runtime.supervisor import DEFAULTS, Means, Settings, Supervisor
from penstock.runtime.table_versions import Reading, TableVersions
from penstock.runtime.tuning import Tuner
from penstock.runtime.waiting import admit
from penstock.sql import (
    CreateEvent,
    CreateFunction,
    CreateQuery,
    CreateRule,
    CreateStream,
    CreateTable,
    CreateType,
    names_of,
    parse,
)

NOTHING_YET: dict[str, Any] = {
    part: {} for part in ("feeds", "buffers", "units", "queries", "finished")
}


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
    commands: frozenset[str] = frozenset()
    functions: tuple[StreamFunction, ...] = ()


class System:
    """Holds everything together; statements and clients act on it, its supervisor runs it."""

    def __init__(self, parts: Parts, settings: Settings = DEFAULTS) -> None:
        """Bring back what the home remembers; `start` sets it going."""
        self.home, self.sessions, self.clock = parts.home, parts.sessions, parts.clock
        self.catalog, self.journal = parts.catalog, parts.journal
        self.directory, self.shelf = Directory(), ResultShelf(self.home.shelf)
        self.types, self.functions = StreamTypes(), KnownFunctions()
        for function in parts.functions:  # before the queries that call them come back
            self.functions.register(function)
        self.analyst = SparkAnalyst(self.sessions.analysis)
        self.aggregates = UserAggregates(self.sessions)
        self._knows_bounds = False
        for each in parts.aggregates:  # before the queries that call them come back
            self.aggregates.register(each)
        tables = Tables(self.sessions, self.home.spill)
        self.tables = TableVersions(tables, self.home.tables, self.clock)
        buffers = BufferPool(self.home.spill, parts.bounds)
        self.plant = Plant(buffers, self.home.late, self.catalog.set_state, tables=self.tables)
        self.processor = Processor(self.sessions, self.home.spill)
        self.firings, self.calls, self._commands = (
            Firings(self.home.firings),
            Callables({name.lower(): each for name, each in parts.actions.items()}),
            parts.commands,
        )
        means = Means(
            self.processor,
            self.journal,
            self.clock,
            self.home.state,
            settings,
            self._acting(),
        )
        self.supervisor = Supervisor(self.plant, means)
        self.supervisor.measure = lambda orders: measure(self, orders)
        self.tuner = Tuner(self)
        self.supervisor.admit = lambda: admit(self)
        checkpoint = self.journal.last_checkpoint()
        self._new_rules: list[tuple[LiveRule, Operator]] = []
        self._newcomers = self._bring_back(checkpoint.manifest if checkpoint else NOTHING_YET)

    def _acting(self) -> Acting:
        doors = Doors(
            lambda name: stream_of(self, name),
            lambda name: table_of(self, name),
            lambda what: steer(self, what),
            self.commands,
            self.calls,
            lambda name, reading: rows_held(self, name, reading),
        )
        return Acting(
            self.firings,
            self.clock,
            lambda rule, action, rows: made(self.processor, rule, action, rows),
            doors,
        )

    def commands(self) -> frozenset[str]:
        """Return the programs that rules may start."""
        return self._commands | self.home.commands()

    def start(self) -> None:
        """Let everything flow."""
        self.supervisor.start()
        self.tuner.start()
        self._add(self._newcomers)

    def close(self) -> None:
        """Finish what runs, write a checkpoint, let go of everything but Spark."""
        self.tuner.stop()
        self.supervisor.stop()
        self.processor.close_lanes()
        plant = self.plant
        for query in (*plant.queries.values(), *plant.suspended.values(), *plant.waiting.values()):
            query.end()
            query.close()
        for feed in self.plant.feeds.values():
            feed.interface.close()
        self.journal.close()
        self.firings.close()
        self.catalog.close()
        self.shelf.close()
        self.home.close()

    # -- definitions; only at rest -------------------------------------------------------

    def define_stream(self, definition: StreamDefinition, incarnation: int) -> Feed:
        """Make a stream known, with a feed that is not open yet."""
        time = definition.time_column
        column = definition.schema.find(time) if time else None
        scan = Scan(
            definition.name,
            incarnation,
            definition.schema,
            (EventTime(column.name),) if column else (),
        )
        around = Surroundings(self.sessions.large, self.clock, self.home.stream(file_of(scan)))
        interface = interfaces.build(definition, around)
        if isinstance(interface, Push):
            interface.on_arrival = self.supervisor.wake
        feed = Feed(scan, definition, interface, self.home.rejects(file_of(scan)))
        self.directory.add(KnownStream(definition, scan))
        self.plant.feeds[feed.key] = feed
        buffer = self.plant.buffers.open(feed.key, definition.schema, keep=KEEP_TRAINS)
        if definition.archive_for is not None:
            archive = Archive(feed.key, definition, self.home.archive(file_of(scan)))
            self.plant.archives[feed.key] = archive
            buffer.register(archive.reader)
        return feed

    def check_stream(self, definition: StreamDefinition) -> None:
        """Raise what is wrong with a stream's definition."""
        interfaces.check(definition)
        check_types(definition.schema)
        if definition.shed_by:
            bind_worth(definition.shed_by, definition.name, definition.schema, self.analyst)

    def define_table(self, statement: CreateTable, incarnation: int, reading: Reading) -> None:
        """Make a table of rows that were read, and make it known."""
        schema = self.tables.create(statement.definition, incarnation, reading)
        self.directory.add(KnownTable(statement.definition, incarnation, schema))

    def bind(self, statement: CreateQuery) -> KnownQuery:
        """Return the query's operators, or raise what is wrong with it."""
        definition = statement.definition
        binder = Binder(
            lambda name: self.directory.source(name, definition.name, definition.stop_after),
            self.analyst,
            emission_of(definition),
            definition.join,
            self.flow_binder(definition),
        )
        tree = marked(statement.select, self.aggregates.known)
        allowed = definition.goals.max_error
        names = frozenset(names_in(statement.select)) | reads_of(statement.select, self.functions)
        whole = why_whole(binder, tree) if allowed else ""
        refuse_shed_by(definition.shed_by, allowed, whole)
        if not allowed or whole:
            return KnownQuery(definition, binder.bind(tree), names, whole)
        if not self._knows_bounds:
            self.sessions.teach(definitions())
            self._knows_bounds = True
        root = bind_sampled(binder, tree, allowed)
        try:
            return KnownQuery(definition, self._by_worth(root, definition.shed_by), names)
        except PenstockError as error:
            error.place = error.place or statement.place
            raise

    def _by_worth(self, root: Operator, stated: str | None) -> Operator:
        """Return a query's operators over a gate that drops by worth, where that is asked for."""
        (scan,) = (node for node in walk(root) if isinstance(node, Scan))
        worth = stated or self.directory.stream(scan.stream).definition.shed_by
        if not worth or not (stated or shows_tuples(root)):
            return root
        return by_worth(root, bind_worth(worth, scan.stream, scan.schema, self.analyst))

    def flow_binder(self, definition: QueryDefinition | None = None) -> FlowBinder:
        """Return what puts flows over streams for a query."""
        kinds = tuple(known.kind for known in self.types)
        return FlowBinder(self.functions, definition.sites if definition else "auto", kinds)

    def know_event(self, statement: CreateEvent) -> KnownEvent:
        """Return the event as it would be known; its operators depend on who reads it, and how."""
        definition, event = statement.definition, statement.event

        def bind(mode: Mode) -> Operator:
            return EventBinder(
                lambda name: self.directory.source(name, definition.name, None), self.analyst
            ).bind(event, mode)

        return KnownEvent(definition, event, frozenset(names_of(event)), bind)

    def check_history(self, known: KnownQuery) -> None:
        """Raise where a window that goes back needs tuples that are gone."""
        for node in walk(known.root):
            if isinstance(node, WindowAggregate) and node.hops.is_reverse and node.axis == "time":
                last = node.hops.last or 0
                needed = min(node.hops.begin, node.hops.start_of(last))
                for scan in (each for each in walk(node) if isinstance(each, Scan)):
                    begins = self.plant.lost_before(scan)
                    if begins is not None and begins > needed:
                        raise gone_before(scan.stream, begins)

    def run_query(self, known: KnownQuery, state: QueryState = QueryState.RUNNING) -> LiveQuery:
        """Put a query into the plant, behind what has been delivered under its name."""
        query = self.live_query(known, state)
        self.plant.finished.pop(query.name.lower(), None)
        self.plant.queries[query.name.lower()] = query
        return query

    def live_query(self, known: KnownQuery, state: QueryState = QueryState.RUNNING) -> LiveQuery:
        """Return a query behind what has been delivered under its name, outside of the plant."""
        definition = known.definition
        query = LiveQuery(definition, known.root, self.result_log(definition.name), state=state)
        if (sink := sinks.build(definition)) is not None:
            query.sinks.append(sink)
        query.delivered = self.journal.last_delivery(query.reader)
        query.meter.rows = self.journal.delivered_rows(query.reader)
        if definition.stop_after is not None and definition.stop_after.interval is not None:
            query.deadline = self.clock.now() + definition.stop_after.interval.total_seconds()
        return query

    def withdraw(self, name: str) -> None:
        """Take a query out of the plant; what only it needed goes with it."""
        query = self.plant.standing(name)
        self.plant.queries.pop(name.lower(), None)
        self.plant.suspended.pop(name.lower(), None)
        self.plant.waiting.pop(name.lower(), None)
        if query is not None:
            query.end()
            query.close()
            self.plant.gone.add(query.reader)
        self.plant.finished.pop(name.lower(), None)
        self.supervisor.changed()

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

    def remove_feed(self, scan: Scan) -> None:
        """Close a stream that nobody reads, and forget its trains."""
        feed = self.plant.feeds.pop(key(scan))
        feed.interface.close()
        self.plant.buffers.drop(feed.key)
        self.plant.gone_streams.add(feed.key)
        if (archive := self.plant.archives.pop(feed.key, None)) is not None:
            archive.remove()
        for directory in (self.home.stream(file_of(scan)), self.home.rejects(file_of(scan))):
            shutil.rmtree(directory, ignore_errors=True)

    def history(self, scan: Scan) -> list[Rows]:
        """Return what a stream still has that a reader which registers now misses; at rest.

        Archive and buffer, in order, each train once; files are linked below spill/ for the caller.
        """
        return self.plant.history(scan)

    def history_from(self, scan: Scan) -> int | None:
        """Return the time (microseconds) from which on a stream's history is complete, or None."""
        return self.plant.history_from(scan)

    def bind_text(self, name: str, select: Any, text: str) -> KnownQuery:
        """Return a SELECT's operators as those of a query that is not there."""
        binder = Binder(
            lambda each: self.directory.source(each, "", None),
            self.analyst,
            flows=self.flow_binder(),
        )
        root = binder.bind(marked(select, self.aggregates.known))
        return KnownQuery(QueryDefinition(name, text), root, frozenset())

    def result_log(self, name: str) -> ResultLog:
        """Return a query's result log."""
        return ResultLog(self.home.results(name.lower()), name, self.shelf)

    # -- for clients ---------------------------------------------------------------------

    def push_source(self, name: str) -> Push:
        """Return the source of a push stream."""
        known = self.directory.stream(name)
        feed = next(f for f in self.plant.feeds.values() if f.scan == known.scan)
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
        with self.supervisor.resting():
            query = self.plant.standing(name)
            log = query.log if query is not None else self.result_log(name)
            subscription = Subscription(name, log=log, after=after, max_rows=max_rows)
            if query is None:
                subscription.end()
            else:
                query.subscriptions.append(subscription)
        return subscription

    def _watch(self, event: KnownEvent) -> None:
        """Keep an event's detections as a query's rows are kept, unless that is done already."""
        name = event.definition.name
        entry = self.catalog.get(name)
        if entry is not None and entry.state is None:
            self.supervisor.catch_up()
            with self.supervisor.at_rest(), self.catalog.together():
                self.catalog.set_state(name, QueryState.RUNNING)
                self.run_query(watching(event))
                self.supervisor.reconnect()

    def attach(self, name: str, sink: Sink) -> None:
        """Give a running query one more sink."""
        self.directory.query(name)
        with self.supervisor.resting():
            query = self.plant.standing(name)
            if query is None:
                raise BadQueryError(f"query {name} does not run", hint="RESUME QUERY first")
            query.sinks.append(sink)

    # -- recovery ------------------------------------------------------------------------

    def _bring_back(self, manifest: Manifest) -> list[KnownQuery]:
        """Put back what the checkpoint has; return the queries that were defined after it."""
        newcomers: list[KnownQuery] = []
        for entry in self.catalog.all():
            try:
                newcomers += self._bring_back_one(entry, manifest)
            except PenstockError as error:
                self.catalog.set_state(entry.name, QueryState.FAILED, str(error))
        self.supervisor.statistics.bring_back(manifest.get("statistics", {}))
        self.supervisor.control.bring_back(manifest.get("control", {}))
        standing = standing_in(manifest)
        self.plant.apart = set(standing.apart)
        self.supervisor.reconnect(standing)
        note_gone(self.plant, manifest)
        for feed in self.plant.feeds.values():
            kept = manifest["feeds"].get(feed.key)
            number = kept["number"] if kept else 0
            recorded = self.journal.trains_after(feed.key, number)
            feed.restore(kept, recorded)
            if (archive := self.plant.archives.get(feed.key)) is not None:
                archive.forget_after(recorded[-1].number if recorded else feed.number)
            try:
                feed.open()
            except PenstockError as error:
                feed.failed(str(error), self.clock.now())
        restore_buffers(self.plant, manifest, self.home.state)
        for live in self.plant.units.values():
            restore_unit(live, manifest, self.journal, self.home.state)
        for query in self.plant.queries.values():
            restore_query(query, manifest, self.journal)
        for query in self.plant.suspended.values():
            restore_suspended(query, manifest, away(self.plant, query, self.clock.now()))
        restore(self, manifest)
        self.supervisor.look_at_lanes()
        return newcomers

    def _add(self, newcomers: list[KnownQuery]) -> None:
        """Do what a death kept from being done: a replay may not cross a change of the graph."""
        if newcomers or self._new_rules:
            self.supervisor.catch_up()
            with self.supervisor.at_rest():
                for known in newcomers:
                    self.catalog.set_state(known.definition.name, QueryState.RUNNING)
                    self.run_query(known)
                with self.supervisor.changing():
                    for rule, event in self._new_rules:
                        stand(self, rule, event)
                self.supervisor.reconnect()

    def _bring_back_one(self, entry: Entry, manifest: Manifest) -> list[KnownQuery]:
        statement = parse(entry.text)[0]
        match statement:
            case CreateType():
                self.types.add(self.types.made(statement.definition))
            case CreateFunction(definition=PythonFunction() as kept_function):
                self.functions.bring_back(kept_function)
            case CreateFunction(definition=FunctionDefinition() as written):
                self.functions.write(written)
            case CreateStream():
                definition = self.types.resolved(statement.definition)
                self.define_stream(definition, entry.incarnation)
            case CreateTable():
                kept = manifest.get("tables", {})
                schema = self.tables.bring_back(statement.definition, entry.incarnation, kept)
                self.directory.add(KnownTable(statement.definition, entry.incarnation, schema))
            case CreateQuery():
                known = self.bind(statement)
                self.directory.add(known)
                return self._bring_back_query(known, entry, manifest)
            case CreateEvent():
                event = self.know_event(statement)
                self.directory.add(event)
                if entry.state is not None:  # somebody has subscribed to it
                    return self._bring_back_query(watching(event), entry, manifest)
            case CreateRule():
                self._new_rules += bring_back(self, statement, entry.incarnation, manifest)
            case _:
                raise BadQueryError(f"the catalog holds no definition of {entry.name}")
        return []

    def _bring_back_query(
        self, known: KnownQuery, entry: Entry, manifest: Manifest
    ) -> list[KnownQuery]:
        """Let a query go on as it was; return it where it was defined after the checkpoint."""
        if entry.state is QueryState.FINISHED:
            self._bring_back_finished(known, manifest)
        if entry.state in (QueryState.STOPPED, QueryState.FINISHED):
            return []
        if entry.state in (QueryState.SUSPENDED, QueryState.WAITING):
            is_away = entry.state is QueryState.SUSPENDED
            held = self.plant.suspended if is_away else self.plant.waiting
            held[entry.name.lower()] = self.live_query(known, entry.state)
            held[entry.name.lower()].cause = entry.cause
            return []
        if not knows(manifest, entry.name, known.root):
            return [known]
        self.run_query(known, entry.state or QueryState.RUNNING).cause = entry.cause
        return []

    def _bring_back_finished(self, known: KnownQuery, manifest: Manifest) -> None:
        definition = known.definition
        query = LiveQuery(definition, known.root, self.result_log(definition.name))
        query.state = QueryState.FINISHED
        query.meter.rows = self.journal.delivered_rows(query.reader)
        restore_finished(query, manifest)
        self.plant.finished[definition.name.lower()] = query


def emission_of(definition: QueryDefinition) -> Emission:
    """Return when a query's windows give rows beside their close."""
    early, lateness = definition.emit_early, definition.allowed_lateness or timedelta(0)
    return Emission(None if early is None else early // MICROSECOND, lateness // MICROSECOND)


def file_of(scan: Scan) -> str:
    """Return the name of a stream's files; a stream made anew under its name gets others."""
    return f"{scan.stream.lower()}.{scan.incarnation}"
