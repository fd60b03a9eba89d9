"""A server as a connection with await: `async with await penstock.connect_async("http://…")`."""

import time
from types import TracebackType
from typing import Self

from penstock.errors import PenstockError
from penstock.remote import calls, requests
from penstock.remote.answers import results_of
from penstock.remote.async_subscription import AsyncRemoteSubscription
from penstock.remote.calls import MAX_ROWS
from penstock.remote.channel import AsyncChannel, Server
from penstock.remote.requests import IDLE_SECONDS
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.statements.result import Result


class AsyncRemoteConnection:
    """What `RemoteConnection` is, for one loop: each call is awaited."""

    def __init__(self, server: Server) -> None:
        self._channel = AsyncChannel(server)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def url(self) -> str:
        """Return where the server is."""
        return self._channel.server.url

    async def sql(self, text: str) -> Result:
        """Carry out a script and return what its last statement gave."""
        return calls.last(await self.script(text))

    async def script(self, text: str) -> list[Result]:
        """Carry out a script and return what each statement gave."""
        ways = calls.script(text)
        for left, ask in reversed(list(enumerate(reversed(ways)))):
            try:
                return results_of(await self._channel.ask(ask))
            except PenstockError as error:
                if not calls.is_other_way(error, left):
                    raise
        return []

    async def push(self, stream: str, rows: object) -> int:
        """Hand rows to a push stream, all or none, and return how many these were."""
        ask, count = calls.push(stream, rows, None)
        await self._channel.ask(ask)
        return count

    async def push_once(self, stream: str, rows: object, key: str) -> int:
        """Hand rows to a push stream unless they came with this key; return how many were taken."""
        ask, _ = calls.push(stream, rows, key)
        return calls.accepted(await self._channel.ask(ask))

    async def end(self, stream: str) -> None:
        """End a push stream for good: its last windows close."""
        await self._channel.ask(calls.end(stream))

    async def punctuate(self, stream: str, condition: str) -> None:
        """Promise that no more tuples will come for which a condition holds."""
        await self.sql(calls.punctuation(stream, condition))

    async def subscribe(
        self, query: str, *, after: Position | None = START, max_rows: int = MAX_ROWS
    ) -> AsyncRemoteSubscription:
        """Return an iterator over a query's result rows: those of its log, then new ones."""
        described = await self._channel.ask(calls.description(query, after, max_rows))
        following = calls.following(query, after, described)
        made = AsyncRemoteSubscription(self._channel, following, max_rows)
        await made.begin()
        return made

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait until all sources have ended and all is delivered; False after `timeout` seconds."""
        calls.check_timeout(timeout)
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = IDLE_SECONDS if until is None else max(0.0, until - time.monotonic())
            if calls.is_idle(await self._channel.ask(requests.idle(left))):
                return True
            if until is not None and time.monotonic() >= until:
                return False

    async def close(self) -> None:
        """Let go of the server; what runs there goes on."""
        await self._channel.close()
