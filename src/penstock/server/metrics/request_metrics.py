"""Requests over HTTP, counted as they are answered."""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client import Counter as Counted
from prometheus_client import Gauge as Level
from prometheus_client import Histogram as Spread

from penstock.server.metrics.figure import LIMITS

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
OTHER = "other"  # clients choose methods and paths; what is no route's is not told apart
BROKEN = 500  # the status of what ended without an answer
# The messages that begin an answer; those of WebSockets have no status of their own.
STATUS = {"http.response.start": BROKEN, "websocket.accept": 101, "websocket.close": 403}


class RequestMetrics:
    """Counts requests by route and status; a stream counts once it begins to be answered."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register the metrics."""
        self._requests = Counted(
            "penstock_http_requests",
            "Requests over HTTP that were answered, or began to be.",
            ("method", "route", "status"),
            registry=registry,
        )
        self._seconds = Spread(
            "penstock_http_request_duration_seconds",
            "From a request to the beginning of its answer.",
            ("method", "route"),
            registry=registry,
            buckets=LIMITS,
        )
        self._open = Level(
            "penstock_http_open_requests",
            "Requests that are being answered, streams and WebSockets among them.",
            registry=registry,
        )

    def around(self, app: App) -> App:
        """Return the application with its requests counted."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] not in {"http", "websocket"}:
                return await app(scope, receive, send)
            request = _Request(self, scope)
            with self._open.track_inprogress():
                try:
                    return await app(scope, receive, request.noting(send))
                finally:
                    request.answered(BROKEN)

        return counted

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that has been answered."""
        method = "WEBSOCKET" if scope["type"] == "websocket" else scope["method"]
        route = getattr(scope.get("route"), "path", OTHER)
        method = method if method in METHODS or method == "WEBSOCKET" else OTHER
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


class _Request:
    """One request on its way; it is counted once, at the first word of its answer."""

    def __init__(self, metrics: RequestMetrics, scope: Scope) -> None:
        self._metrics, self._scope, self._began = metrics, scope, time.perf_counter()
        self._is_counted = False

    def noting(self, send: Send) -> Send:
        """Return what sends messages and sees the first."""

        async def sent(message: Message) -> None:
            if (status := STATUS.get(message["type"])) is not None:
                self.answered(message.get("status", status))
            await send(message)

        return sent

    def answered(self, status: int) -> None:
        """Count the request, unless it is counted."""
        if not self._is_counted:
            self._is_counted = True
            self._metrics.count(self._scope, status, time.perf_counter() - self._began)
