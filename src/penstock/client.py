"""Penstock from Python: `with penstock.connect() as ps: ps.sql("…")`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.catalog import SqliteCatalog
from penstock.clock import Clock, WallClock
from penstock.engine.actions.call import Function
from penstock.engine.buffers import DEFAULT_BOUNDS, Bounds
from penstock.engine.session import open_sessions
from penstock.engine.sinks.callback import CallbackSink
from penstock.engine.sinks.sink import Delivery
from penstock.functions.flow import Dataflow
from penstock.functions.function import Function as StreamFunction
from penstock.functions.templates import central
from penstock.model.definitions import Sites
from penstock.model.schema import quoted
from penstock.model.user_aggregates import UserAggregate
from penstock.runtime.execute import Result, approved, execute
from penstock.runtime.flows import graph_term
from penstock.runtime.home import Home
from penstock.runtime.journal_sqlite import SqliteJournal
from penstock.runtime.making_functions import register
from penstock.runtime.result_row import START, Position
from penstock.runtime.subscription import MAX_ROWS, Subscription
from penstock.runtime.supervisor import DEFAULTS, Settings
from penstock.runtime.system import Parts, System

DEFAULT_HOME = ".penstock"


def connect(  # noqa: PLR0913  (all by name but the first, each with a default)
    home: str | Path = DEFAULT_HOME,
    *,
    master: str = "local[*]",
    spark: SparkSession | None = None,
    clock: Clock | None = None,
    begin: bool = True,
    settings: Settings = DEFAULTS,
    bounds: Bounds = DEFAULT_BOUNDS,
    aggregates: Sequence[UserAggregate] = (),
    actions: Mapping[str, Function] | None = None,
    commands: Sequence[str] = (),
    functions: Sequence[StreamFunction] = (),
) -> "Connection":
    """Open a home and run what it remembers, on a Spark of our own or on the caller's.

    One process may have a home open at a time. Leaving the connection finishes the units that
    run, writes a checkpoint and stops a Spark of our own; the next `connect` goes on from there.
    With `begin=False` nothing flows until `Connection.begin`, so that a tap misses nothing.
    Queries that call users' aggregates come back only where these are given again, and so do rules
    that CALL `actions`. Registered `functions` come back by themselves where they can be imported,
    else where they are given. `commands` are the programs, by their whole paths, that rules may
    start.
    """
    held = Home(Path(home))
    try:
        held.refuse_lost_catalog()
        sessions = open_sessions(master, spark, held.path / "spark.log")
        catalog = SqliteCatalog(held.catalog)
        held.refuse_lost_journal(len(catalog.all()))
        journal = SqliteJournal(held.journal)
        now = clock or WallClock()
        given = (tuple(aggregates), actions or {}, frozenset(commands), tuple(functions))
        parts = Parts(held, sessions, catalog, journal, now, bounds, *given)
        system = System(parts, settings)
        if held.lost_firings():
            system.warn(f"{held.firings} was lost: what rules had still to do is not known")
    except BaseException:
        held.close()
        raise
    connection = Connection(system)
    if begin:
        connection.begin()
    return connection


class Connection:
    """A running Penstock, embedded in this process. Usable from several threads."""

    def __init__(self, system: System) -> None:
        self._system = system
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
        return self._system

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what opening the home found wrong and dealt with, each as a sentence."""
        return tuple(self._system.warnings)

    def begin(self) -> None:
        """Let what the home remembers flow, after `connect(begin=False)`."""
        self._system.start()
        self._system.complete()

    def sql(self, text: str) -> Result:
        """Carry out a script and return what its last statement gave."""
        results = self.script(text)
        return results[-1] if results else Result()

    def script(self, text: str, *, approve: Callable[[], None] = approved) -> list[Result]:
        """Carry out a script and return what each statement gave.

        Sources begin to flow once the whole script stands, so queries at its end miss nothing.
        Where a statement fails, or `approve` raises while all stands and nothing has flowed,
        nothing stands that the script added.
        """
        return execute(self._system, text, approve)

    def push(
        self, stream: str, rows: pa.Table | Iterable[Mapping[str, Any]] | Mapping[str, Any]
    ) -> int:
        """Hand rows to a push stream; when this returns they survive a crash.

        A mapping holds columns: sequences of values, of vectors also the rows of a matrix.
        """
        source = self._system.push_source(stream)
        if isinstance(rows, Mapping):
            return source.push_columns(rows)
        given = rows if isinstance(rows, pa.Table) else [dict(row) for row in rows]
        return source.push(given)

    def end(self, stream: str) -> None:
        """Say that a push stream has ended: its windows close."""
        self._system.push_source(stream).end()

    def punctuate(self, stream: str, condition: str) -> None:
        """Say that no more tuples will come for which the condition holds: `car_id = 'x'`.

        Windows that wait only for such tuples close at once.
        """
        self.sql(f"PUNCTUATE {quoted(stream)} WHERE {condition}")

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
        """Make an aggregate of four Python functions known to SQL; see `UserAggregate`.

        It is not remembered over a restart: give it to `connect(aggregates=[…])`, so that queries
        that call it come back. Functions of the same types may be replaced. One that is not
        `deterministic` is for one-time SELECTs alone.
        """
        functions = (init, update, merge, finish)
        made = UserAggregate(name, *functions, tuple(takes), state, returns, deterministic)
        with self._system.supervisor.at_rest():
            self._system.aggregates.register(made)
        return made

    def register(self, function: StreamFunction) -> StreamFunction:
        """Make a stream function known to SQL and to flows; see `@stream_function`.

        The catalog keeps where it is found, so that after a restart it is imported from there, or
        given to `connect(functions=[…])`. A running query keeps the version that it began with.
        """
        register(self._system, function)
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
        """Run a flow over a stream as a query: `into` is a sink such as `files(path => 'out')`.

        `auto(function)` is spread in the way that is measured to be best.
        """
        graph = flow if isinstance(flow, Dataflow) else central(flow)
        given = "" if output is None else f" OUTPUT {output}"
        sink = f" INTO {into}" if into else ""
        text = f"FLOW {graph_term(graph)} OVER {quoted(over)}{given}{sink}"
        return self.sql(f"CREATE QUERY {quoted(name)} WITH (sites => '{sites}') AS {text}")

    def subscribe(
        self, query: str, *, after: Position | None = START, max_rows: int = MAX_ROWS
    ) -> Subscription:
        """Iterate a query's result rows: all that its log keeps and all that come.

        `after` resumes behind a row's position; a slow reader then reads from the log what did
        not fit into memory. None gives only what comes from now on, and a reader that falls more
        than `max_rows` behind loses the oldest. `left_out` counts what was lost.
        """
        return self._system.subscribe(query, after, max_rows)

    def callback(self, query: str, function: Callable[[pa.Table, int], object]) -> None:
        """Call `function(rows, number)` for each delivery of a running query.

        A callback that raises is tried again, then holds the query; it is not remembered over
        a restart.
        """
        self._system.attach(query, CallbackSink(function))

    def action(self, name: str, function: Function) -> None:
        """Make a function known to rules, which CALL it with the tuples and the firing's key.

        One that raises or takes too long is called again with the same tuples and key. It is not
        remembered over a restart: give it to `connect(actions={…})`, so that rules that call it
        come back.
        """
        self._system.calls.register(name, function)

    def tap(self, function: Callable[[Delivery], None]) -> None:
        """Call `function` for every delivery of every query, before it counts as delivered."""
        self._system.supervisor.taps.append(function)

    def wait(self, timeout: float | None = None) -> bool:
        """Return True once all sources have ended and all results are delivered.

        False after `timeout` seconds. A source that never ends is waited for as long.
        """
        done = self._system.supervisor.wait_idle(timeout)
        if self._system.supervisor.fatal is not None:
            raise self._system.supervisor.fatal
        return done

    def close(self) -> None:
        """Finish what runs, write a checkpoint, let go."""
        if not self._closed:
            self._closed = True
            self._system.close()
            self._system.sessions.stop()
