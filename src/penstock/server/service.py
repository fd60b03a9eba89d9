"""What both protocols and the page call: statements, pushes and subscriptions of callers.

Usable from many threads. It is made before its home is open, so that listeners can say so.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from penstock.client import Connection
from penstock.engine.spark.jobs.cancellation import Cancellation
from penstock.errors import (
    BadQueryError,
    NotAuthenticatedError,
    NotReadyError,
    PenstockError,
    TooLargeError,
    TooManyError,
    UnknownNameError,
    shortened,
)
from penstock.model.arguments import TEXT, require
from penstock.model.schema import Schema
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.names.directory import (
    KnownBase,
    KnownEvent,
    KnownPerspective,
    KnownQuery,
    KnownRule,
)
from penstock.runtime.names.flows import reads_of
from penstock.runtime.names.stream_types import catalog_name
from penstock.runtime.statements.changes import Change
from penstock.runtime.statements.result import Result
from penstock.runtime.work.subscription import Subscription
from penstock.server.access.audit import REQUEST, AuditLog
from penstock.server.access.caller import LOCAL, Caller, Role
from penstock.server.access.rate_limit import RateLimit
from penstock.server.access.rights import Rights, require_role
from penstock.server.access.tokens import TokenFile, find
from penstock.server.configuration import Configuration
from penstock.server.threads import Threads
from penstock.sql import CreateQuery, Describe, SelectOnce, Show, Statement, parse

T = TypeVar("T")
MOST_SQL = 1 << 20  # characters: reading a text takes some hundred times its memory
AGAIN = "ask again in some seconds"
FUNCTIONS = catalog_name("FUNCTION", "").lower()


@dataclass(frozen=True, slots=True)
class RunningStatement:
    """A script that is being carried out, or waits for its turn."""

    id: str
    caller: Caller
    text: str
    began: float  # monotonic seconds
    cancellation: Cancellation = field(default_factory=Cancellation)


class Service:
    """One home for many callers."""

    def __init__(self, configuration: Configuration) -> None:
        """Be ready to refuse; `open` gives it the home."""
        self.configuration = configuration
        self.threads = Threads.of(configuration)
        self._tokens = TokenFile(Path(configuration.home))
        self._rate = RateLimit(configuration.limits_requests)
        self._audit = AuditLog(configuration.audit_file)
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._rights: Rights | None = None
        self._running: dict[int, RunningStatement] = {}
        self._subscriptions: set[Subscription] = set()
        self._is_stopping = False
        self._at_stop: list[Callable[[], None]] = []

    # -- the home ------------------------------------------------------------------------------

    def open(self, connection: Connection) -> None:
        """Serve a home that has recovered."""
        system = connection.system

        def inputs(name: str) -> frozenset[str] | None:
            match system.directory.get(name):
                case KnownBase(reads=reads) | KnownPerspective(reads=reads) if reads:
                    return reads
                case KnownQuery(reads=reads) | KnownEvent(reads=reads):
                    return _without_functions(reads)
                case KnownRule(needs=needs):
                    return needs
                case None:
                    return None
                case _:
                    return frozenset()

        def called(statement: SelectOnce | CreateQuery) -> frozenset[str]:
            return _without_functions(reads_of(statement.select, system.functions))

        self._rights = Rights(inputs, called, system.allowed)
        self._connection = connection

    def at_stop(self, act: Callable[[], None]) -> None:
        """Call this when the service stops, for those who wait for what it will do."""
        self._at_stop.append(act)

    def stop(self) -> None:
        """Take nothing new, end subscriptions, cancel what is asked."""
        self._is_stopping = True
        for act in self._at_stop:
            act()
        with self._lock:
            subscriptions, running = list(self._subscriptions), list(self._running.values())
        for subscription in subscriptions:
            subscription.close()
        for each in running:
            each.cancellation.cancel()

    def close(self) -> None:
        """Let go of threads and files; the connection is the opener's to close."""
        self.threads.close()
        self._audit.close()

    @property
    def is_ready(self) -> bool:
        """Say whether the home has recovered, goes on, and is not being closed."""
        held = self._connection
        return not self._is_stopping and held is not None and not _fatal(held)

    @property
    def connection(self) -> Connection:
        """Return the open home; NotReadyError while it is opened or closed."""
        if self._connection is None or self._is_stopping:
            doing = "closed" if self._is_stopping else "opened"
            raise NotReadyError(f"the home is being {doing}", hint=AGAIN)
        return self._connection

    @property
    def rights(self) -> Rights:
        """Return what judges statements; NotReadyError while the home is opened."""
        if self._rights is None:
            raise NotReadyError("the home is being opened", hint=AGAIN)
        return self._rights

    # -- who asks ------------------------------------------------------------------------------

    @property
    def needs_token(self) -> bool:
        """Say whether callers have to show a token: as soon as there is one."""
        return bool(self._tokens.tokens() or self.configuration.tokens)

    def caller(self, token: str | None, peer: str) -> Caller:
        """Return who asks, by the token; `peer` is the address, for the log.

        Raises:
            NotAuthenticatedError: there are tokens, and this is none of them.
            TooManyError: the caller asks too often.
        """
        if not self.needs_token:
            caller = LOCAL
        elif token is None:
            raise NotAuthenticatedError(
                "a token is needed", hint="send Authorization: Bearer TOKEN"
            )
        else:
            found = find(token, (*self._tokens.tokens(), *self.configuration.tokens))
            if found is None:
                raise NotAuthenticatedError(
                    f"no such token (from {peer})", hint="penstock token list shows their names"
                )
            caller = found.caller
        self._rate.require(caller.name)
        return caller

    # -- statements ----------------------------------------------------------------------------

    def script(self, caller: Caller, text: str) -> list[Result]:
        """Carry out a script that the caller may carry out; what changes something is audited.

        Raises:
            ForbiddenError: a statement takes another role, or a stream that the token does not
                reach; nothing was carried out.
            PenstockError: as `Connection.script`.
        """
        connection = self.connection
        require("a statement", text=(text, TEXT))
        if len(text) > MOST_SQL:
            raise TooLargeError(
                f"the SQL has {len(text):,} characters, and a script at most {MOST_SQL:,}",
                hint="send it in parts; rows are pushed, not written",
            )
        statements = parse(text)
        changes = any(isinstance(each, Change) or _is_setting(each) for each in statements)
        try:
            self.rights.require(caller, statements)
            results = connection.script(text)
        except PenstockError as error:
            if changes or error.code == "FORBIDDEN":
                self._audit.note(caller, text, error.code)
            raise
        if changes:
            self._audit.note(caller, text, "done")
        return results

    def select(self, caller: Caller, text: str) -> pa.Table:
        """Return the rows of one statement that gives rows."""
        match parse(text):  # before it is carried out: a change would be done, and no rows come
            case [SelectOnce() | Describe() | Show(as_json=False, into=None)]:
                table = self.script(caller, text)[0].table
                assert table is not None  # noqa: S101  (these give rows)
                return table
            case _:
                raise BadQueryError(
                    "one statement that gives rows was expected",
                    hint="SELECT, SHOW and DESCRIBE give rows",
                )

    async def carried_out(self, caller: Caller, text: str, work: Callable[[], T]) -> T:
        """Return what the work for a script gives, in a thread for statements.

        From now on `cancel` reaches it by the id of the request, also while it waits for its turn.
        """
        running = RunningStatement(REQUEST.get(), caller, text, time.monotonic())
        with self._lock:
            self._running[id(running)] = running
        try:
            return await self.threads.statements.do_unless(running.cancellation, work)
        finally:
            with self._lock:
                del self._running[id(running)]

    def running(self, caller: Caller) -> list[RunningStatement]:
        """Return the caller's scripts that are carried out or wait; an admin sees everybody's."""
        with self._lock:
            running = list(self._running.values())
        return [each for each in running if _may_see(caller, each)]

    def cancel(self, caller: Caller, statement: str) -> None:
        """Cancel a script by its id: a SELECT ends at once, a change that has begun is finished."""
        meant = [each for each in self.running(caller) if each.id == statement]
        for each in meant:
            each.cancellation.cancel()
        if not meant:
            raise UnknownNameError(
                f"no statement {shortened(statement)} is being carried out", hint="it may be over"
            )

    # -- rows ----------------------------------------------------------------------------------

    def push(
        self,
        caller: Caller,
        stream: str,
        rows: pa.Table | Sequence[Mapping[str, Any]],
        key: str | None = None,
        fingerprint: bytes = b"",
    ) -> int:
        """Hand rows to a push stream; return how many were accepted.

        Rows that come with a `key` again are accepted once: then this returns 0. `fingerprint`
        tells whether they are the same rows.
        """
        connection = self.connection
        self._require_stream(caller, stream, Role.WRITE, "pushing")
        if key is None:
            connection.push(stream, rows)
            return len(rows)
        # A key is the caller's own: two clients may both count from one.
        own = f"{caller.name}/{key}"
        return connection.push_once(stream, rows, own, fingerprint=fingerprint)

    def columns(self, caller: Caller, stream: str) -> Schema:
        """Return the columns of a stream that the caller may push to."""
        connection = self.connection
        self._require_stream(caller, stream, Role.WRITE, "pushing")
        return connection.system.directory.stream(stream).definition.as_read.schema

    def end(self, caller: Caller, stream: str) -> None:
        """End a push stream for good."""
        connection = self.connection
        self._require_stream(caller, stream, Role.WRITE, "ending")
        connection.end(stream)
        self._audit.note(caller, f"end of {stream}", "done")

    def subscribe(self, caller: Caller, query: str, after: Position | None = START) -> Subscription:
        """Return a reader of a query's rows, to be closed by `release`."""
        connection = self.connection
        self._require_stream(caller, query, Role.READ, "subscribing")
        most = self.configuration.limits_subscribers
        if len(self._subscriptions) >= most:
            raise TooManyError(
                f"{most:,} subscribers are here already", hint="limits.subscribers allows more"
            )
        subscription = connection.subscribe(
            query, after=after, max_rows=self.configuration.limits_behind
        )
        with self._lock:
            self._subscriptions.add(subscription)
        if self._is_stopping:  # `stop` may have closed all others already
            subscription.close()
        return subscription

    def release(self, subscription: Subscription) -> None:
        """Close a subscription."""
        subscription.close()
        with self._lock:
            self._subscriptions.discard(subscription)

    @property
    def subscribers(self) -> int:
        """Return how many subscriptions are open."""
        return len(self._subscriptions)

    def require_role(self, caller: Caller, role: Role, why: str) -> None:
        """Raise ForbiddenError where the caller's role does not do."""
        require_role(caller, role, why)

    def _require_stream(self, caller: Caller, name: str, role: Role, why: str) -> None:
        """Raise ForbiddenError where the caller may not push or follow, and keep who tried."""
        try:
            self.rights.require_stream(caller, name, role, why)
        except PenstockError as error:
            self._audit.note(caller, f"{why}: {name}", error.code)
            raise


def _fatal(connection: Connection) -> bool:
    return connection.system.supervisor.fatal is not None


def _may_see(caller: Caller, running: RunningStatement) -> bool:
    return caller.role is Role.ADMIN or running.caller.name == caller.name


def _is_setting(statement: Statement) -> bool:
    return type(statement).__name__.startswith("Set")


def _without_functions(names: frozenset[str]) -> frozenset[str]:
    return frozenset(name for name in names if not name.startswith(FUNCTIONS))
