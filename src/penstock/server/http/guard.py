"""What stands before every request: its id, its log line, and whom it may come from.

A browser on this machine would send what any site asks it to, also to 127.0.0.1, and a site whose
name is made to point there would read the answer. So a request whose `Origin` is not ours is
refused, and without tokens so is a `Host` that is no name of this machine.
"""

import logging
import re
import secrets
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from penstock.errors import ForbiddenError, PenstockError
from penstock.server.access.audit import REQUEST
from penstock.server.configuration.configuration import is_loopback
from penstock.server.http.problems import response
from penstock.server.service import Service

LOG = logging.getLogger("penstock.server")
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
PORT = re.compile(r":\d{1,5}$")
QUIET = ("/health/", "/metrics")  # asked every few seconds, and so not told
FAILED = 500


@dataclass(frozen=True, slots=True)
class Guard:
    """Wraps the application."""

    app: ASGIApp
    service: Service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on with an id; tell how it went."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        request = given if ID.fullmatch(given) else secrets.token_hex(8)
        before = REQUEST.set(request)
        line = _Line(scope, time.perf_counter())

        async def send_on(message: Message) -> None:
            line.see(message)
            if message["type"] == "http.response.start":
                _add_headers(message, request)
            await send(message)

        try:
            if (error := self._judged(headers)) is not None:
                await _refuse(error, scope, receive, send_on)
            else:
                await self.app(scope, receive, send_on)
        finally:
            if self.service.configuration.log_requests:
                line.tell()
            REQUEST.reset(before)

    def _judged(self, headers: Headers) -> PenstockError | None:
        """Return why a request is refused, if so: also where tokens cannot be read."""
        try:
            return self._refusal(headers)
        except PenstockError as error:
            return error

    def _refusal(self, headers: Headers) -> PenstockError | None:
        host = headers.get("host", "")
        if not self.service.needs_token and not self._is_ours(host):
            return ForbiddenError(
                f"{host or 'no name'} is no name of this server",
                hint="http.hosts of the configuration adds one",
            )
        origin = headers.get("origin")
        configuration = self.service.configuration
        if origin is None or origin in configuration.http_origins:
            return None
        if origin.removeprefix("https://").removeprefix("http://") != host:
            return ForbiddenError(
                f"scripts of {origin} may not ask this server",
                hint="http.origins of the configuration adds a site",
            )
        return None

    def _is_ours(self, host: str) -> bool:
        name = PORT.sub("", host).lower()
        return is_loopback(name) or name in self.service.configuration.http_hosts


@dataclass(slots=True)
class _Line:
    """What is logged of one request."""

    scope: Scope
    began: float
    status: int = 0
    sent: int = 0

    def see(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            self.status = int(message["status"])
        elif message["type"] == "websocket.accept":
            self.status = 101
        self.sent += len(message.get("body", b""))

    def tell(self) -> None:
        path, is_fine = self.scope["path"], self.status < FAILED
        if path.startswith(QUIET):
            return
        peer = self.scope.get("client") or ("", 0)
        facts = {
            "method": self.scope.get("method", "WEBSOCKET"),
            "path": path,
            "status": self.status,
            "bytes": self.sent,
            "milliseconds": round((time.perf_counter() - self.began) * 1000, 1),
            "caller": getattr(self.scope.get("state", {}), "caller", None)
            or self.scope.get("state", {}).get("caller", ""),
            "peer": peer[0],
        }
        LOG.log(logging.INFO if is_fine else logging.ERROR, "request", extra={"facts": facts})


def _add_headers(message: Message, request: str) -> None:
    """Tell the request's id; and no browser is to guess at types, or show us in a frame."""
    message["headers"] = [
        *message["headers"],
        (b"x-request-id", request.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"x-frame-options", b"DENY"),
        (b"referrer-policy", b"no-referrer"),
    ]


async def _refuse(error: PenstockError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": error.code})
        return
    await response(error)(scope, receive, send)
