"""What this protocol asks of the server, and the server as it answers."""

from collections.abc import Iterator
from functools import partial
from typing import Protocol

import pyarrow as pa

from penstock.errors import PenstockError, UnknownNameError
from penstock.model.schema import Schema
from penstock.runtime.durable.result_row import Position
from penstock.runtime.names.directory import (
    Known,
    KnownEvent,
    KnownQuery,
    KnownStream,
    KnownTable,
)
from penstock.runtime.statements.result import Result
from penstock.runtime.views.schema import VIEWS
from penstock.runtime.work.subscription import Subscription
from penstock.server.access import Caller
from penstock.server.access.audit import REQUEST
from penstock.server.pg.catalog.relations import Relation
from penstock.server.pg.values.types import column_of_arrow, column_of_spark
from penstock.server.service import Service


class Backend(Protocol):
    """Statements, subscriptions and names; what may take long is awaited."""

    @property
    def needs_token(self) -> bool:
        """Say whether callers have to show a token."""
        ...

    def caller(self, token: str | None, peer: str) -> Caller:
        """Return who asks, or raise that they may not."""
        ...

    async def script(self, caller: Caller, text: str, identity: str) -> list[Result]:
        """Carry out a script, which can be cancelled by its identity."""
        ...

    def cancel(self, caller: Caller, identity: str) -> None:
        """Cancel a script, if it is still being carried out."""
        ...

    async def subscribe(self, caller: Caller, query: str, after: Position | None) -> Subscription:
        """Return a reader of a query's rows."""
        ...

    async def read(self, subscription: Subscription) -> pa.Table | None:
        """Return the rows that a reader has at hand, without waiting."""
        ...

    def release(self, subscription: Subscription) -> None:
        """Let a reader go."""
        ...

    def relations(self) -> tuple[Relation, ...]:
        """Return all that has rows."""
        ...


class ServedHome:
    """The home that a Service serves."""

    def __init__(self, service: Service) -> None:
        self._service = service

    @property
    def needs_token(self) -> bool:
        return self._service.needs_token

    def caller(self, token: str | None, peer: str) -> Caller:
        return self._service.caller(token, peer)

    async def script(self, caller: Caller, text: str, identity: str) -> list[Result]:
        before = REQUEST.set(identity)
        try:
            work = partial(self._service.script, caller, text)
            return await self._service.carried_out(caller, text, work)
        finally:
            REQUEST.reset(before)

    def cancel(self, caller: Caller, identity: str) -> None:
        try:
            self._service.cancel(caller, identity)
        except UnknownNameError:
            return  # it is over

    async def subscribe(self, caller: Caller, query: str, after: Position | None) -> Subscription:
        return await self._service.threads.joins.do(self._service.subscribe, caller, query, after)

    async def read(self, subscription: Subscription) -> pa.Table | None:
        return await self._service.threads.reads.do(_at_hand, subscription)

    def release(self, subscription: Subscription) -> None:
        self._service.release(subscription)

    def relations(self) -> tuple[Relation, ...]:
        known = list(self._service.connection.system.directory.known.values())
        found = [each for each in map(_relation, known) if each is not None]
        return (*found, *_views())


def _at_hand(subscription: Subscription) -> pa.Table | None:
    return next(subscription.tables(timeout=0), None)


def _relation(known: Known) -> Relation | None:
    match known:
        case KnownStream(definition=definition):
            return _made("stream", definition.name, definition.schema)
        case KnownTable(definition=definition, schema=schema):
            return _made("table", definition.name, schema)
        case KnownQuery(definition=definition, root=root):
            return _made("query", definition.name, root.schema, definition.select)
        case KnownEvent(definition=definition):
            try:
                return _made("event", definition.name, known.root().schema, definition.body)
            except PenstockError:  # it cannot be bound at present
                return None
        case _:
            return None


def _made(kind: str, name: str, schema: Schema, definition: str = "") -> Relation:
    columns = tuple(column_of_spark(each.name, each.type) for each in schema)
    return Relation("public", name, kind, columns, definition)  # type: ignore[arg-type]  # one of its kinds, as written above


def _views() -> Iterator[Relation]:
    for name, view in VIEWS.items():
        columns = tuple(column_of_arrow(field) for field in view.columns)
        yield Relation("system", name, "view", columns, view.about)
