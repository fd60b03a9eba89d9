"""Requests on their way to a server, tried again where that is safe: blocking, and with await."""

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from penstock.errors import BadArgumentError, ClosedError, UnreachableError
from penstock.remote.answers import problem_of, refused
from penstock.remote.patience import Tries
from penstock.remote.requests import PUSH_SECONDS, Ask
from penstock.remote.urls import checked_url

CONNECT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is and how it is talked to; `ca` is a file with the certificate to trust."""

    url: str
    token: str | None = None
    ca: str | Path | None = None
    patience: float = 0.0

    def options(self) -> dict[str, Any]:
        """Return the arguments of a client of httpx."""
        headers = {"User-Agent": "penstock"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        return {
            "base_url": checked_url(self.url),
            "headers": headers,
            "limits": httpx.Limits(max_connections=None),
            "verify": True if self.ca is None else _trusting(self.ca),
        }

    def unreachable(self, ask: Ask, failure: httpx.TransportError) -> UnreachableError:
        """Return the error of a request that got no answer."""
        told = f"{self.url} does not answer: {str(failure) or type(failure).__name__}"
        hint = "start it by penstock serve, or check the URL"
        if not ask.repeatable and not isinstance(failure, httpx.ConnectError):
            hint = "what was asked may have been carried out: look before it is asked again"
        return UnreachableError(told, hint=hint)

    def breaks_off(self) -> UnreachableError:
        """Return the error of a server that answers, and breaks off again and again."""
        return UnreachableError(
            f"{self.url} breaks off every connection", hint="look at what stands between"
        )


def _trusting(ca: str | Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(ca))
    except (OSError, ssl.SSLError) as error:
        raise BadArgumentError(
            f"the certificate {ca} cannot be read: {error}", hint="ca names a file of PEM"
        ) from None


def _made(client: httpx.Client | httpx.AsyncClient, ask: Ask) -> httpx.Request:
    timeout = httpx.Timeout(ask.seconds, connect=CONNECT_SECONDS, write=PUSH_SECONDS)
    parts: Mapping[str, Any] = {"content": ask.content, "params": ask.params}
    return client.build_request(
        ask.method, ask.path, headers=dict(ask.headers), timeout=timeout, **parts
    )


def _closed() -> ClosedError:
    return ClosedError("this connection is closed", hint="penstock.connect() opens another")


class Channel:
    """Blocking; usable from several threads."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._client = httpx.Client(**server.options())

    def ask(self, ask: Ask) -> httpx.Response:
        """Return the whole answer, or raise the error that it tells."""
        return self._answer(ask, whole=True)

    def open(self, ask: Ask) -> httpx.Response:
        """Return an answer that is fine, its body unread; to be closed."""
        return self._answer(ask, whole=False)

    def _answer(self, ask: Ask, *, whole: bool) -> httpx.Response:
        tries = Tries(self.server.patience, time.monotonic(), ask.repeatable)
        while True:
            if self._client.is_closed:
                raise _closed()
            try:
                response = self._client.send(_made(self._client, ask), stream=True)
                if whole or not response.is_success:
                    response.read()  # which closes it
                if response.is_success:
                    return response
            except httpx.TransportError as failure:
                pause = tries.after_failure(failure, time.monotonic())
                if pause is None:
                    raise self.server.unreachable(ask, failure) from failure
            else:
                code = str(problem_of(response).get("code", ""))
                pause = tries.after_answer(response, code, time.monotonic())
                if pause is None:
                    raise refused(response, ask.source)
            time.sleep(pause)

    def close(self) -> None:
        """Let go of all connections."""
        self._client.close()


class AsyncChannel:
    """The same with await, for one loop."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._client = httpx.AsyncClient(**server.options())

    async def ask(self, ask: Ask) -> httpx.Response:
        """Return the whole answer, or raise the error that it tells."""
        return await self._answer(ask, whole=True)

    async def open(self, ask: Ask) -> httpx.Response:
        """Return an answer that is fine, its body unread; to be closed."""
        return await self._answer(ask, whole=False)

    async def _answer(self, ask: Ask, *, whole: bool) -> httpx.Response:
        tries = Tries(self.server.patience, time.monotonic(), ask.repeatable)
        while True:
            if self._client.is_closed:
                raise _closed()
            try:
                response = await self._client.send(_made(self._client, ask), stream=True)
                if whole or not response.is_success:
                    await response.aread()  # which closes it
                if response.is_success:
                    return response
            except httpx.TransportError as failure:
                pause = tries.after_failure(failure, time.monotonic())
                if pause is None:
                    raise self.server.unreachable(ask, failure) from failure
            else:
                code = str(problem_of(response).get("code", ""))
                pause = tries.after_answer(response, code, time.monotonic())
                if pause is None:
                    raise refused(response, ask.source)
            await asyncio.sleep(pause)

    async def close(self) -> None:
        """Let go of all connections."""
        await self._client.aclose()
