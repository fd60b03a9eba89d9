"""Requests are counted by route and status, and by nothing that a client can make up."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI, HTTPException, WebSocket
from fastapi.responses import StreamingResponse
from prometheus_client import CollectorRegistry

from penstock.server.metrics.request_metrics import Message, RequestMetrics


def application() -> FastAPI:
    app = FastAPI()

    @app.get("/rows/{name}")
    async def rows(name: str) -> str:
        if name == "missing":
            raise HTTPException(404)
        return name

    @app.get("/broken")
    async def broken() -> None:
        raise RuntimeError

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(iter([b"a", b"b"]))

    @app.websocket("/socket")
    async def socket(socket: WebSocket) -> None:
        await socket.accept()
        await socket.close()

    return app


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def ask(registry: CollectorRegistry, *requests: tuple[str, str]) -> None:
    """Send requests, each a method and a path, to the application with its requests counted."""

    async def send() -> None:
        app = RequestMetrics(registry).around(application())
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            for method, path in requests:
                await client.request(method, path)

    asyncio.run(send())


def counted(registry: CollectorRegistry) -> dict[tuple[str, str, str], float]:
    return {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.name == "penstock_http_requests_total"
    }


def test_requests_count_by_their_route_and_status(registry: CollectorRegistry) -> None:
    paths = ("/rows/a", "/rows/b", "/rows/missing", "/broken", "/stream")
    ask(registry, *(("GET", path) for path in paths))
    assert counted(registry) == {
        ("GET", "/rows/{name}", "200"): 2,
        ("GET", "/rows/{name}", "404"): 1,
        ("GET", "/broken", "500"): 1,
        ("GET", "/stream", "200"): 1,
    }


def test_paths_and_methods_that_nobody_serves_are_one(registry: CollectorRegistry) -> None:
    ask(registry, ("GET", "/1"), ("GET", "/2"), ("MADE1", "/x"), ("MADE2", "/x"))
    assert counted(registry) == {("GET", "other", "404"): 2, ("other", "other", "404"): 2}


def test_a_websocket_counts_once(registry: CollectorRegistry) -> None:
    async def connect() -> None:
        messages = [{"type": "websocket.connect"}, {"type": "websocket.disconnect"}]
        sent = []

        async def receive() -> Message:
            return messages.pop(0)

        async def send(message: Message) -> None:
            sent.append(message["type"])

        scope = {"type": "websocket", "path": "/socket", "headers": [], "query_string": b""}
        await RequestMetrics(registry).around(application())(scope, receive, send)
        assert sent == ["websocket.accept", "websocket.close"]

    asyncio.run(connect())
    assert counted(registry) == {("WEBSOCKET", "/socket", "101"): 1}


def test_requests_that_are_open_are_seen(registry: CollectorRegistry) -> None:
    async def app(*_: object) -> None:
        assert registry.get_sample_value("penstock_http_open_requests") == 1

    async def nobody(*_: object) -> Message:
        raise AssertionError

    scope = {"type": "http", "method": "GET"}
    asyncio.run(RequestMetrics(registry).around(app)(scope, nobody, nobody))
    assert registry.get_sample_value("penstock_http_open_requests") == 0
    assert counted(registry) == {("GET", "other", "500"): 1}
