"""A connection without Spark: what the commands ask of one, scripted."""

import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from penstock.clock import HandClock
from penstock.engine.sinks.sink import Delivery
from penstock.errors import PenstockError
from penstock.model.definitions import Connector, QueryDefinition, QueryState
from penstock.model.trains import BEGIN_OF_TIME
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.statements.result import Result
from penstock.runtime.statements.statements import approved
from penstock.runtime.work.meter import Meter
from penstock.runtime.work.subscription import Subscription
from penstock.sql import CreateQuery, parse


class Terminal(io.StringIO):
    """Standard error that says whether it is a terminal."""

    def __init__(self, *, tty: bool) -> None:
        super().__init__()
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty


class Output(io.BytesIO):
    """Standard output that says whether it is a terminal, and may refuse."""

    def __init__(self, *, tty: bool = False, refuse: OSError | None = None) -> None:
        super().__init__()
        self._tty, self._refuse = tty, refuse

    def isatty(self) -> bool:
        return self._tty

    def flush(self) -> None:
        if self._refuse is not None:
            raise self._refuse


NO_ROOT: Any = None


def live_query(name: str, state: QueryState = QueryState.RUNNING, cause: str = "") -> Any:
    return SimpleNamespace(name=name, state=state, cause=cause, meter=Meter())


def known_query(name: str, *, into: bool = False) -> Any:
    sink = Connector("files") if into else None
    return KnownQuery(QueryDefinition(name, "SELECT 1 FROM s", sink=sink), NO_ROOT, frozenset())


def source_reader(
    name: str, *, cause: str = "", bounded: bool = True, source: str = "files"
) -> Any:
    definition = SimpleNamespace(name=name, source=Connector(source))
    return SimpleNamespace(
        key=name,
        definition=definition,
        cause=cause,
        ended=False,
        is_held=False,
        watermark=BEGIN_OF_TIME,
        meter=Meter(),
        interface=SimpleNamespace(bounded=bounded, ended=False),
    )


class Directory:
    """Names, as the runtime's directory keeps them."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def get(self, name: str) -> Any:
        return self.known.get(name.lower())

    def query(self, name: str) -> Any:
        return self.known[name.lower()]

    def streams(self) -> Iterator[Any]:
        return iter(())

    def tables(self) -> Iterator[Any]:
        return iter(())

    def queries(self) -> Iterator[Any]:
        return iter(())

    def rules(self) -> Iterator[Any]:
        return iter(())


class FakeSystem:
    """The parts of a system that the command line looks at."""

    def __init__(self, home: Path) -> None:
        self.clock = HandClock(1000.0)
        self.directory = Directory()
        self.topology = SimpleNamespace(
            queries={},
            suspended={},
            waiting={},
            source_readers={},
            waits_for_rules=lambda _: False,
            buffers=Buffers(),
        )
        self.catalog = SimpleNamespace(all=list)
        self.home = SimpleNamespace(path=home)
        self.supervisor = SimpleNamespace(
            resting=contextlib.nullcontext,
            acts=False,
        )
        self.journal = self.pending_actions = SimpleNamespace()
        self.quiescence = SimpleNamespace(
            quiesced=contextlib.nullcontext,
            catch_up=self._catch_up,
        )
        self.replays: list[Callable[[], bool]] = []  # what happens while it catches up

    @property
    def inspected(self) -> Any:
        """Return the same parts, as views read them."""
        return self

    def start(self) -> None:
        """Nothing flows by itself here."""

    def complete(self) -> None:
        """Nothing came before a death."""

    def _catch_up(self, timeout: float) -> bool:
        return self.replays.pop(0)() if self.replays else True


class Buffers:
    """Buffers with a reader each, that hold some rows."""

    def __init__(self) -> None:
        self.queued: dict[str, int] = {}

    def __iter__(self) -> Iterator[Any]:
        for rows in self.queued.values():
            yield SimpleNamespace(figures=lambda rows=rows: SimpleNamespace(rows=rows))

    def waited_for(self) -> list[Any]:
        return []

    def get(self, key: str) -> Any:
        return SimpleNamespace(readers=lambda: {"unit:x": 0})


class FakeConnection:
    """Runs nothing: queries of a script stand, and `waits` says what happens as time goes by."""

    def __init__(self, home: Path) -> None:
        self.system = FakeSystem(home)
        self.taps: list[Callable[[Delivery], None]] = []
        self.waits: list[Callable[[], bool]] = []
        self.scripts: list[str] = []
        self.refuse: PenstockError | None = None
        self.tables: dict[str, pa.Table] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.closed = False

    def begin(self) -> None:
        """Nothing flows by itself here."""

    def tap(self, function: Callable[[Delivery], None]) -> None:
        self.taps.append(function)

    def script(self, text: str, *, approve: Callable[[], None] = approved) -> list[Result]:
        self.scripts.append(text)
        if self.refuse is not None:
            raise self.refuse
        results = [self._carry_out(each) for each in parse(text)]
        approve()
        return results

    def sql(self, text: str) -> Result:
        return self.script(text)[-1]

    def wait(self, timeout: float | None = None) -> bool:
        return self.waits.pop(0)() if self.waits else True

    def subscribe(self, query: str, *, after: Any) -> Subscription:
        assert after is None
        return self.subscriptions[query]

    def deliver(self, query: str, rows: pa.Table) -> None:
        for tap in self.taps:
            tap(Delivery(query, 1, rows))

    def close(self) -> None:
        self.closed = True

    def _carry_out(self, statement: Any) -> Result:
        if isinstance(statement, CreateQuery):
            name = statement.definition.name
            self.system.topology.queries[name] = live_query(name)
            self.system.directory.known[name] = known_query(name, into="into" in name)
            return Result(f"query {name} runs")
        if statement.text in self.tables:
            return Result(table=self.tables[statement.text])
        return Result("done")
