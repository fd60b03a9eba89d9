"""Following a query of a server with `async for`; a connection that breaks is made again."""

import asyncio
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

import httpx

from penstock.errors import PenstockError, ServerError, describe
from penstock.remote import requests
from penstock.remote.channel import AsyncChannel
from penstock.remote.following import Ended, Following, LeftOut, News
from penstock.remote.patience import Tries
from penstock.runtime.durable.result_row import START, Position, ResultRow


class AsyncRemoteSubscription:
    """One reader of one query's results: `async for row in subscription`, or `await next()`.

    It is what `RemoteSubscription` is, for one loop.
    """

    def __init__(self, channel: AsyncChannel, following: Following, max_rows: int) -> None:
        """Be ready; `begin` asks the server."""
        self._channel, self._following = channel, following
        self._position = following.position or START
        self._queue: asyncio.Queue[News | PenstockError] = asyncio.Queue(max_rows)
        self._last: Ended | PenstockError | None = None
        self._task: asyncio.Task[None] | None = None
        self.query, self.left_out, self.gap, self.closed = following.query, 0, False, False

    @property
    def position(self) -> Position:
        """Return the position of the last row handed out: where to resume."""
        return self._position

    @property
    def ended(self) -> bool:
        """Return whether no more rows will come."""
        return self.closed or isinstance(self._last, Ended)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ResultRow:
        if (row := await self.next()) is None:
            raise StopAsyncIteration
        return row

    async def begin(self) -> None:
        """Begin to follow; raises what the server refuses."""
        self._task = asyncio.ensure_future(self._take(await self._open()))

    async def next(self, timeout: float | None = None) -> ResultRow | None:
        """Return the next row, or None where none came in `timeout` seconds or it has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while not self.ended:
                    if isinstance(self._last, PenstockError):
                        raise self._last
                    match await self._queue.get():
                        case ResultRow() as row:
                            self._position = row.position
                            return row
                        case LeftOut(rows):
                            self.left_out += rows or 0
                            self.gap = self.gap or rows is None
                        case last:
                            self._last = last
        return None

    async def close(self) -> None:
        """Stop reading: iteration ends, also where it waits in another task."""
        self.closed = True
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(Ended())

    async def _open(self) -> httpx.Response:
        following = self._following
        following.begin()
        return await self._channel.open(requests.follow(following.query, following.position))

    async def _take(self, response: httpx.Response) -> None:
        """Put what comes into the queue, and come back where the connection breaks."""
        reached, tries = self._following.position, self._tries()
        try:
            while not await self._has_ended(response):
                if self._following.position != reached:
                    reached, tries = self._following.position, self._tries()
                await self._rest(tries)
                if reached is None:
                    await self._queue.put(LeftOut(None))  # what came cannot be asked for
                response = await self._open()
        except PenstockError as error:
            await self._queue.put(error)
        except Exception as error:  # else who reads would wait for ever
            await self._queue.put(ServerError(describe(error)))

    async def _has_ended(self, response: httpx.Response) -> bool:
        """Read one connection to its end; say whether it was the query's."""
        try:
            async for data in response.aiter_bytes():
                for news in self._following.read(data):
                    await self._queue.put(news)
                    if isinstance(news, Ended):
                        return True
        except httpx.TransportError:
            pass  # it is made again
        finally:
            with suppress(httpx.TransportError):
                await response.aclose()
        return False

    async def _rest(self, tries: Tries) -> None:
        """Wait before the next try; raise where it has been too long."""
        if (pause := tries.pause(time.monotonic())) is None:
            raise self._channel.server.breaks_off()
        await asyncio.sleep(pause)

    def _tries(self) -> Tries:
        return Tries(self._channel.server.patience, time.monotonic(), repeatable=True)
