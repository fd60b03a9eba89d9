"""Penstock from Python: `with penstock.connect() as ps: ps.sql("…")`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.clock import Clock, WallClock
from penstock.engine.actions.call import Function
from penstock.engine.allowed import Allowed
from penstock.engine.sinks.callback import CallbackSink
from penstock.engine.sinks.sink import Delivery
from penstock.engine.spark.application.session import open_sessions
from penstock.engine.spark.application.spark_life import death_told
from penstock.engine.trains.buffers import DEFAULT_BOUNDS, BufferBounds
from penstock.errors import ClosedError
from penstock.functions.flows.flow import Dataflow
from penstock.functions.flows.templates import central
from penstock.functions.operators.function import Function as StreamFunction
from penstock.grid.reader import PerspectiveReader
from penstock.model.arguments import (
    ABOVE_ZERO,
    ACTIONS,
    BYTES,
    FLAG,
    FUNCTION,
    PATH,
    POSITION,
    SECONDS,
    TEXT,
    TEXTS,
    WHOLE,
    ArgumentKind,
    instance_of,
    many,
    require,
)
from penstock.model.definitions import Sites
from penstock.model.functions.user_aggregates import UserAggregate
from penstock.model.schema import literal, quoted
from penstock.runtime.durable.home import Home
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.loop.supervisor import DEFAULTS, Settings
from penstock.runtime.names.flows import graph_term
from penstock.runtime.statements.result import Result
from penstock.runtime.statements.statements import approved
from penstock.runtime.stores import open_stores
from penstock.runtime.system import Parts, System
from penstock.runtime.work.subscription import MAX_ROWS, Subscription
from penstock.sql import fragment, parse_select

DEFAULT_HOME = ".penstock"
CLOCK = ArgumentKind("a clock", lambda value: hasattr(value, "now") and hasattr(value, "sleep"))
SETTINGS_OF_SPARK = ArgumentKind(
    "a mapping of texts",
    lambda value: (
        isinstance(value, Mapping)
        and all(isinstance(each, str) for pair in value.items() for each in pair)
    ),
)
AGGREGATE = instance_of("an aggregate", UserAggregate)
STREAM_FUNCTION = instance_of("a stream function", StreamFunction)
FLOW = instance_of("a flow or a stream function", Dataflow, StreamFunction)


def connect(  # noqa: PLR0913  (all by name but the first, each with a default)
    home: str | Path = DEFAULT_HOME,
    *,
    master: str | None = None,
    spark: SparkSession | None = None,
    clock: Clock | None = None,
    begin: bool = True,
    settings: Settings = DEFAULTS,
    bounds: BufferBounds = DEFAULT_BOUNDS,
    aggregates: Sequence[UserAggregate] = (),
    actions: Mapping[str, Function] | None = None,
    commands: Sequence[str] = (),
    functions: Sequence[StreamFunction] = (),
    hosts: Sequence[str] = (),
    formats: Sequence[str] = (),
    writable: Sequence[str | Path] = (),
    readable: Sequence[str | Path] = (),
    allow_functions: Sequence[str] = (),
    spark_settings: Mapping[str, str] | None = None,
    journal: str | None = None,
) -> "Connection":
    """Open a home and run what it remembers, on a Spark of our own or on the caller's.

    One process may have a home open at a time. Leaving the connection finishes the units that
    run, writes a checkpoint and stops a Spark of our own; the next `connect` goes on from there.
    Where Spark's Java dies, all that waits raises SparkDiedError; close the connection, and the
    next one goes on, with another Java in the place of one of our own.

    Args:
        home: the directory that keeps definitions, progress and results (`.penstock` where none
            is named); made where it is missing.
        master: the Spark master to start a session on, such as that of a cluster; None takes the
            one that spark-submit was given, else `local[*]`.
        spark: a session of the caller's to run on instead; closing leaves it running.
        clock: where the time comes from, for tests.
        begin: whether data flows at once. With False nothing flows until `Connection.begin`, so
            that a tap misses nothing.
        settings: how often checkpoints are written, how many units run at once, time limits.
        bounds: how many bytes buffers may hold in memory, and may wait for a sink.
        aggregates: aggregates in Python. Queries that call one come back only where it is given
            again.
        actions: functions that rules may CALL, by name. Rules that call one come back only where
            it is given again.
        commands: programs that rules may start, by their whole paths.
        functions: stream functions that cannot be imported from where they were defined. Others
            that were registered come back by themselves.
        hosts: hosts that webhooks of rules and connectors may reach, as `host` or `host:port`.
        formats: formats that `spark(format => …)` may read besides Spark's own of local files.
        writable: directories below which statements may write files, besides the working
            directory.
        readable: where any are named, statements read files only below these, the writable ones
            and the working directory.
        allow_functions: functions of Spark's that SQL may call although they load classes or read
            what their arguments name (`reflect`, `from_xml`, `xpath` …).
        spark_settings: settings of a Spark of our own, such as `spark.driver.memory`.
        journal: `postgresql://user@host/database?schema=name`, where catalog and journal are kept
            in PostgreSQL instead of in the home, so that another machine can take over.

    Returns:
        The connection; use it as a context manager, so that it is closed.

    Raises:
        HomeBusyError: another process has the home open.
        HomeError: the home is damaged, or another version wrote it.
        SparkMissingError: Java or the Spark master cannot be reached.
        WorkersUnlikeError: a cluster's workers have another Python, or lack a package.
        HomeUnseenError: a cluster's workers do not see the home.
        JournalError: the journal's PostgreSQL cannot be reached or used.
    """
    require(
        "penstock.connect",
        home=(home, PATH),
        master=(master, TEXT.or_none()),
        spark=(spark, instance_of("a SparkSession", SparkSession).or_none()),
        clock=(clock, CLOCK.or_none()),
        begin=(begin, FLAG),
        settings=(settings, instance_of("Settings", Settings)),
        bounds=(bounds, instance_of("BufferBounds", BufferBounds)),
        aggregates=(aggregates, many("a list of aggregates", AGGREGATE)),
        actions=(actions, ACTIONS.or_none()),
        commands=(commands, TEXTS),
        hosts=(hosts, TEXTS),
        formats=(formats, TEXTS),
        writable=(writable, many("a list of directories", PATH)),
        readable=(readable, many("a list of directories", PATH)),
        allow_functions=(allow_functions, TEXTS),
        journal=(journal, TEXT.or_none()),
        spark_settings=(spark_settings, SETTINGS_OF_SPARK.or_none()),
        functions=(functions, many("a list of stream functions", STREAM_FUNCTION)),
    )
    held, stores = Home(Path(home)), None
    try:
        stores = open_stores(held, journal)
        log = held.path / "spark.log"
        sessions = open_sessions(
            master, spark, log, allow_functions, spark_settings or {}, held.spill
        )
        now = clock or WallClock()
        names = (commands, hosts, formats, map(str, writable), map(str, readable))
        allowed = Allowed(*map(frozenset, names))
        given = (tuple(aggregates), actions or {}, allowed, tuple(functions))
        parts = Parts(held, sessions, stores, now, bounds, *given)
        with death_told():
            system = System(parts, settings)
            system.recover()
        if held.lost_pending_actions():
            system.warn(f"{held.pending_actions} was lost: what rules had still to do is not known")
    except BaseException:
        if stores is not None:
            stores.close()
        held.close()
        raise
    connection = Connection(system)
    if begin:
        connection.begin()
    return connection


class Connection:
    """A running Penstock, embedded in this process. Usable from several threads."""

    def __init__(self, system: System) -> None:
        self._opened = system
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def system(self) -> System:
        """Return the system behind, for those who build on it."""
        return self._opened

    @property
    def _system(self) -> System:
        """Return the system, as long as it is open."""
        if self._closed:
            raise ClosedError("this connection is closed", hint="penstock.connect() opens another")
        return self._opened

    def _asked(self, select: str) -> pa.Table:
        return self.sql(select).table

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what opening the home found wrong and dealt with, each as a sentence."""
        return tuple(self._opened.warnings)

    def begin(self) -> None:
        """Start what the home remembers, after `connect(begin=False)`."""
        self._system.start()
        self._system.complete()

    def sql(self, text: str) -> Result:
        """Carry out a script and return what its last statement gave.

        Raises:
            PenstockError: a statement is wrong or could not be carried out; see `script`.
        """
        results = self.script(text)
        return results[-1] if results else Result()

    def script(self, text: str, *, approve: Callable[[], None] = approved) -> list[Result]:
        """Carry out a script and return what each statement gave.

        Sources begin to flow once the whole script stands, so queries at its end miss nothing.
        Where a statement fails, or `approve` raises, what the script added is dropped again.

        Args:
            text: statements of SQL, separated by `;`.
            approve: called when all of the script stands and before anything flows.
        """
        require("ps.sql", text=(text, TEXT), approve=(approve, FUNCTION))
        with death_told():
            return self._system.statements.execute(text, approve)

    def push(self, stream: str, rows: object) -> int:
        """Hand rows to a push stream, all or none; when this returns they survive a crash.

        Args:
            stream: a stream that was created `FROM push()`.
            rows: a list of mappings; one row as a mapping of single values; columns as a mapping
                of lists or arrays; a DataFrame of pandas or polars; or a table, batch or reader
                of Arrow.

        Returns:
            How many rows the stream has had, with these and with what rules have inserted.

        Raises:
            BadRowError: a row does not fit the stream's columns; nothing was taken.
        """
        require("ps.push", stream=(stream, TEXT))
        if self._system.supervisor.fatal is not None:  # nothing would come of them for now
            raise self._system.supervisor.fatal
        return self._system.streams.push_source(stream).push(rows)

    def push_once(self, stream: str, rows: object, key: str, *, fingerprint: bytes = b"") -> int:
        """Hand rows to a push stream unless they came with this key before.

        So whoever is not told that a push went well, and repeats it, loses and doubles nothing,
        over the end of this process as well. Keys are remembered for a day (`Settings`).

        Args:
            stream: a stream that was created `FROM push()`.
            rows: as `push` takes them.
            key: what names this push among all of the stream's.
            fingerprint: what tells these rows from others, where a key may be used again wrongly.

        Returns:
            How many rows were taken: all, or 0 where they had come before.

        Raises:
            BadRowError: a row does not fit the stream's columns; nothing was taken.
            KeyReusedError: the key came before with other rows.
        """
        require(
            "ps.push_once",
            stream=(stream, TEXT),
            key=(key, TEXT),
            fingerprint=(fingerprint, BYTES),
        )
        if self._system.supervisor.fatal is not None:
            raise self._system.supervisor.fatal
        return self._system.keyed_pushes.push(stream, rows, key, fingerprint)

    def end(self, stream: str) -> None:
        """End a push stream for good: its last windows close."""
        require("ps.end", stream=(stream, TEXT))
        self._system.streams.push_source(stream).end()

    def punctuate(self, stream: str, condition: str) -> None:
        """Promise that no more tuples will come for which a condition such as `car_id = 'x'` holds.

        Windows that wait only for such tuples close at once.
        """
        require("ps.punctuate", stream=(stream, TEXT), condition=(condition, TEXT))
        self.sql(f"PUNCTUATE {quoted(stream)} WHERE {fragment(condition)}")

    def aggregate(  # noqa: PLR0913  (all by name but the first)
        self,
        name: str,
        *,
        init: Callable[[], Any],
        update: Callable[..., Any],
        merge: Callable[[Any, Any], Any],
        finish: Callable[[Any], Any],
        takes: Sequence[str],
        state: str,
        returns: str,
        deterministic: bool = True,
    ) -> UserAggregate:
        """Make an aggregate of four Python functions known to SQL.

        It is not remembered over a restart: give it to `connect(aggregates=[…])`, so that queries
        that call it come back. A later one of the same name and types replaces it. The arguments
        are those of `UserAggregate`.
        """
        require(
            "ps.aggregate",
            name=(name, TEXT),
            init=(init, FUNCTION),
            update=(update, FUNCTION),
            merge=(merge, FUNCTION),
            finish=(finish, FUNCTION),
            takes=(takes, TEXTS),
            state=(state, TEXT),
            returns=(returns, TEXT),
            deterministic=(deterministic, FLAG),
        )
        functions = (init, update, merge, finish)
        made = UserAggregate(name, *functions, tuple(takes), state, returns, deterministic)
        with self._system.quiescence.quiesced():
            self._system.aggregates.register(made)
        return made

    def register(self, function: StreamFunction) -> StreamFunction:
        """Make a stream function known to SQL and to flows; see `@stream_function`.

        The catalog keeps where it is found, so that after a restart it is imported from there, or
        given to `connect(functions=[…])`. A running query keeps the version that it began with.
        """
        require("ps.register", function=(function, STREAM_FUNCTION))
        with self._system.quiescence.quiesced():
            self._system.stream_functions.register(function)
        return function

    def run(
        self,
        flow: Dataflow | StreamFunction,
        *,
        over: str,
        name: str,
        into: str = "",
        output: int | None = None,
        sites: Sites = "auto",
    ) -> Result:
        """Run a flow over a stream as a query.

        Args:
            flow: a graph of stream functions, or one function. `auto(function)` is spread in the
                way that is measured to be best.
            over: the stream or query whose items it takes.
            name: the query's name.
            into: a sink such as `files(path => 'out')`; without one, rows go to subscribers alone.
            output: which of the flow's outputs, where it has several.
            sites: `auto`, `driver` or `workers`: where the functions run.
        """
        require(
            "ps.run",
            flow=(flow, FLOW),
            over=(over, TEXT),
            name=(name, TEXT),
            into=(into, TEXT),
            output=(output, WHOLE.or_none()),
            sites=(sites, TEXT),
        )
        graph = flow if isinstance(flow, Dataflow) else central(flow)
        given = "" if output is None else f" OUTPUT {output}"
        sink = f" INTO {fragment(into)}" if into else ""
        text = f"FLOW {graph_term(graph)} OVER {quoted(over)}{given}{sink}"
        return self.sql(f"CREATE QUERY {quoted(name)} WITH (sites => {literal(sites)}) AS {text}")

    def subscribe(
        self, query: str, *, after: Position | None = START, max_rows: int = MAX_ROWS
    ) -> Subscription:
        """Return an iterator over a query's result rows: those that its log keeps, then new ones.

        Args:
            query: the query's name.
            after: the position of a row, to resume behind it; without one, reading begins with the
                first row that the log keeps. A slow reader reads from the log what did not fit
                into memory. None gives only what comes from now on.
            max_rows: how many rows wait in memory. With `after=None` a reader that falls further
                behind loses the oldest; `Subscription.left_out` counts them.
        """
        require(
            "ps.subscribe",
            query=(query, TEXT),
            after=(after, POSITION.or_none()),
            max_rows=(max_rows, ABOVE_ZERO),
        )
        return self._system.subscriptions.subscribe(query, after, max_rows)

    def perspective(self, name: str) -> PerspectiveReader:
        """Return a base or a perspective, to be read as a table or an array, or written to files.

        Raises:
            UnknownNameError: there is none of that name.
        """
        require("ps.perspective", name=(name, TEXT))
        self._system.directory.grid(name)
        selects = self._system.statements.questions.selects
        return PerspectiveReader(
            name, self._asked, lambda text: selects.surface(parse_select(text))
        )

    def callback(self, query: str, function: Callable[[pa.Table, int], object]) -> None:
        """Call `function(rows, number)` for each delivery of a running query.

        `rows` is an Arrow table, `number` counts deliveries from one. A callback that raises is
        tried again, then the query is held. It is not remembered over a restart.
        """
        require("ps.callback", query=(query, TEXT), function=(function, FUNCTION))
        self._system.subscriptions.attach(query, CallbackSink(function))

    def action(self, name: str, function: Function) -> None:
        """Make a function known to rules, which CALL it with the tuples and the firing's key.

        One that raises or takes too long is called again with the same tuples and key. It is not
        remembered over a restart: give it to `connect(actions={…})`, so that rules that call it
        come back.
        """
        require("ps.action", name=(name, TEXT), function=(function, FUNCTION))
        self._system.calls.register(name, function)

    def tap(self, function: Callable[[Delivery], None]) -> None:
        """Call `function` for every delivery of every query, before it counts as delivered."""
        require("ps.tap", function=(function, FUNCTION))
        self._system.supervisor.taps.append(function)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all sources have ended and all results are delivered.

        Args:
            timeout: for how many seconds at most; None waits for ever, also for a source that
                never ends.

        Returns:
            True when all is delivered, False after `timeout`.
        """
        require("ps.wait", timeout=(timeout, SECONDS.or_none()))
        done = self._system.supervisor.wait_idle(timeout)
        if self._system.supervisor.fatal is not None:
            raise self._system.supervisor.fatal
        return done

    def close(self) -> None:
        """Finish the units that run, write a checkpoint and release the home."""
        if not self._closed:
            self._closed = True
            self._opened.close()
            self._opened.sessions.stop()
