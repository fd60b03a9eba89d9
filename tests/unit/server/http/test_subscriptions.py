"""A client by WebSocket that goes while it is let in."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Message
from starlette.websockets import WebSocket

from penstock.server.configuration import resolved
from penstock.server.http.application import application
from penstock.server.service import Service


def test_a_client_that_goes_while_it_is_let_in_leaves_no_subscription(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    of = Service(resolved({"home": str(tmp_path / "home"), "http.port": "0"}, {}))
    held, released = object(), []
    monkeypatch.setattr(Service, "subscribe", lambda *_: held)
    monkeypatch.setattr(Service, "release", lambda _, each: released.append(each))

    async def gone(*_: Any, **__: Any) -> None:
        raise OSError("the client has gone")

    monkeypatch.setattr(WebSocket, "accept", gone)

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(_: Message) -> None:
        return

    scope = {
        "type": "websocket",
        "path": "/v1/queries/q/rows",
        "headers": [(b"host", b"localhost")],
        "query_string": b"",
        "client": ("127.0.0.1", 1),
    }
    with pytest.raises(OSError, match="gone"):
        asyncio.run(application(of)(scope, receive, send))
    assert released == [held]
    of.close()
