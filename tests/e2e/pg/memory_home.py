"""A home without Spark, for tests of PostgreSQL's protocol: answers that a test has laid out."""

import asyncio
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.engine.sinks.sink import Delivery
from penstock.errors import (
    CancelledError,
    NotAuthenticatedError,
    Place,
    UnknownNameError,
)
from penstock.runtime.durable.result_row import Position
from penstock.runtime.statements.result import Result
from penstock.runtime.work.subscription import Subscription
from penstock.server.access import LOCAL, Caller, Role
from penstock.server.pg.catalog.relations import Relation
from penstock.server.pg.listener import Limits, Listener
from penstock.server.pg.values.types import column_of_spark

Answer = Callable[[str], list[Result]]


@dataclass
class MemoryHome:
    """Answers texts by the first pattern that is found in them, and remembers what it was asked."""

    relations_: list[Relation] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    tokens: dict[str, Caller] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    subscriptions: list[Subscription] = field(default_factory=list)
    delivered: list[Delivery] = field(default_factory=list)
    released: int = 0
    end_after: int = 0  # subscriptions end once they have so many deliveries
    running: dict[str, asyncio.Event] = field(default_factory=dict)

    @property
    def needs_token(self) -> bool:
        return bool(self.tokens)

    def caller(self, token: str | None, peer: str) -> Caller:
        if not self.tokens:
            return LOCAL
        if token not in self.tokens:
            raise NotAuthenticatedError(f"no such token (from {peer})")
        return self.tokens[token]

    async def script(self, caller: Caller, text: str, identity: str) -> list[Result]:
        self.asked.append(text)
        if "WAIT" in text:
            self.running[identity] = asyncio.Event()
            await self.running[identity].wait()
            raise CancelledError("the statement was cancelled")
        for pattern, answer in self.answers.items():
            if re.search(pattern, text, re.IGNORECASE):
                return answer(text)
        found = re.search(r"missing", text)
        if found is not None:
            line = text.count("\n", 0, found.start())
            column = found.start() - text.rfind("\n", 0, found.start())
            raise UnknownNameError("no stream missing", place=Place(line + 1, column, text))
        return [Result("done") for each in text.split(";") if each.strip()]

    def cancel(self, caller: Caller, identity: str) -> None:
        if identity in self.running:
            self.running[identity].set()

    async def subscribe(self, caller: Caller, query: str, after: Position | None) -> Subscription:
        if query not in [each.name for each in self.relations_]:
            raise UnknownNameError(f"no query {query}")
        subscription = Subscription(query, after=None)
        for delivery in self.delivered:
            if after is not None and delivery.number > after[0]:
                subscription.deliver(delivery)
        self.subscriptions.append(subscription)
        if 0 < self.end_after <= len(self.delivered):
            subscription.end()
        return subscription

    async def read(self, subscription: Subscription) -> pa.Table | None:
        return next(subscription.tables(timeout=0), None)

    def release(self, subscription: Subscription) -> None:
        subscription.close()
        self.released += 1

    def relations(self) -> tuple[Relation, ...]:
        return tuple(self.relations_)

    def deliver(self, query: str, rows: pa.Table) -> None:
        """Deliver rows to all subscribers, as the runtime does in its own thread."""
        delivery = Delivery(query, len(self.delivered) + 1, rows)
        self.delivered.append(delivery)
        for each in self.subscriptions:
            each.deliver(delivery)

    def end(self) -> None:
        """Say that nothing more comes."""
        for each in self.subscriptions:
            each.end()


def relation(name: str, kind: Any, columns: str, definition: str = "") -> Relation:
    """Return a relation; its columns are written `name type; name type`."""
    pairs = (each.strip().split(" ", 1) for each in columns.split(";"))
    made = tuple(column_of_spark(name, type_) for name, type_ in pairs)
    return Relation("public", name, kind, made, definition)


def token(name: str, role: Role = Role.ADMIN) -> Caller:
    """Return whose a token is."""
    return Caller(name, role)


@contextmanager
def listening(
    home: MemoryHome, context: ssl.SSLContext | None = None, limits: Limits | None = None
) -> Iterator[int]:
    """Listen on a free port of this machine, in a thread of its own."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    port: int = taken.getsockname()[1]
    began, loop = threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        listener = Listener(home, context, limits)
        await listener.start(taken)
        began.set()
        await over.wait()
        await listener.stop()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    began.wait()
    try:
        yield port
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
