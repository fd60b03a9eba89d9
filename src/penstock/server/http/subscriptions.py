"""Subscriptions: `GET /v1/queries/{name}/rows` as Server-Sent Events, and by WebSocket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, WebSocket, WebSocketDisconnect
from starlette.requests import HTTPConnection
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from penstock.errors import PenstockError
from penstock.server.http.answers import AS_THEY_COME, EVENTS, event
from penstock.server.http.callers import SUBPROTOCOL, Asking, Serving, caller_of, service_of
from penstock.server.http.documents import ERRORS, EVENT_STREAM
from penstock.server.http.follow import (
    Chunk,
    Ended,
    Follower,
    LeftOut,
    News,
    Quiet,
    as_events,
    as_message,
    position_of,
)
from penstock.server.http.problems import response, told

ROUTES = APIRouter(prefix="/v1/queries", tags=["queries"])
FAILED, LEAVING = 1011, 1001


@ROUTES.get(
    "/{name}/rows",
    summary="Follow a query",
    response_class=StreamingResponse,
    responses={**EVENT_STREAM, **ERRORS},
)
async def follow(
    name: str,
    caller: Asking,
    service: Serving,
    after: Annotated[str | None, Query(description="a position, or `now`")] = None,
    wait: Annotated[bool, Query(description="for rows to come, not just those there are")] = True,
    last_event_id: Annotated[str | None, Header()] = None,
) -> StreamingResponse:
    """Send a query's rows as Server-Sent Events, from the first that its log keeps.

    Each `data:` is one row as JSON, and its `id:` the row's position. A client that comes back with
    `Last-Event-ID` gets what follows that, without a gap and without a row twice. `event: end` says
    that the query has ended, `event: left_out` that rows were gone before they could be sent,
    `event: error` what has stopped everything.
    """
    position = position_of(last_event_id or after)
    subscription = await service.threads.joins.do(service.subscribe, caller, name, position)
    follower = Follower(service, subscription, wait)
    return _Following(follower)


@ROUTES.websocket("/{name}/rows")
async def follow_by_socket(socket: WebSocket, name: str, after: str | None = None) -> None:
    """Send a query's rows as messages, each with some rows and their positions."""
    service = service_of(socket)
    try:
        caller = caller_of(HTTPConnection(socket.scope))
        position = position_of(after)
        subscription = await service.threads.joins.do(service.subscribe, caller, name, position)
    except PenstockError as error:
        await socket.send_denial_response(response(error))
        return
    offered = socket.scope.get("subprotocols", [])
    try:
        await socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
        await _send_until_gone(socket, Follower(service, subscription))
    finally:
        service.release(subscription)


class _Following(StreamingResponse):
    """Events of one follower, whose subscription ends with the response, however that ends."""

    def __init__(self, follower: Follower) -> None:
        super().__init__(_events(follower), media_type=EVENTS, headers=AS_THEY_COME)
        self._follower = follower

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; a client may leave before the first is asked for."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._follower.service.release(self._follower.subscription)


async def _events(follower: Follower) -> AsyncIterator[bytes]:
    try:
        async for news in follower:
            yield _event(news)
    except PenstockError as error:
        yield _named("error", told(error))


def _event(news: News) -> bytes:
    match news:
        case Chunk():
            return as_events(news)
        case LeftOut(rows):
            return _named("left_out", {"rows": rows})
        case Quiet():
            return b": nothing came\n\n"
        case Ended():
            return _named("end", {})


def _named(name: str, data: dict[str, Any]) -> bytes:
    return event(name, json.dumps(data, ensure_ascii=False))


async def _send_until_gone(socket: WebSocket, follower: Follower) -> None:
    gone = asyncio.ensure_future(_gone(socket))
    sending = asyncio.ensure_future(_send(socket, follower))
    try:
        await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (gone, sending):
            task.cancel()
        await asyncio.gather(gone, sending, return_exceptions=True)


async def _send(socket: WebSocket, follower: Follower) -> None:
    with suppress(WebSocketDisconnect):
        try:
            async for news in follower:
                match news:
                    case Chunk():
                        await socket.send_text(as_message(news))
                    case LeftOut(rows):
                        await socket.send_json({"left_out": rows})
                    case Quiet():
                        pass  # the protocol has pings of its own
                    case Ended():
                        await socket.send_json({"end": True})
            await socket.close(LEAVING if follower.subscription.closed else 1000)
        except PenstockError as error:
            await socket.send_json({"error": told(error)})
            await socket.close(FAILED)


async def _gone(socket: WebSocket) -> None:
    """Return once the client has gone; what it sends is not asked for."""
    with suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.receive_text()
