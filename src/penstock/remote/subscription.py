"""Following a query of a server row by row; a connection that breaks is made again."""

import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Self

import httpx
import pyarrow as pa

from penstock.errors import PenstockError, ServerError, describe
from penstock.remote import requests
from penstock.remote.channel import Channel
from penstock.remote.following import Ended, Following, LeftOut, News
from penstock.remote.patience import Tries
from penstock.runtime.durable.result_row import START, Position, ResultRow

LOOK_SECONDS = 0.2  # how soon a reader that waits for room sees that nobody wants more
TABLE_ROWS = 1_000


class RemoteSubscription:
    """One reader of one query's results: iterate it, or call `next` or `tables`.

    Iterating waits for rows, and ends when the query has ended or the subscription is closed. Rows
    come once and in order, also where the connection breaks or the server is started again: the
    subscription goes on behind the last row. One thread reads; any thread may close.
    """

    # A thread of its own takes what the server sends. Where nobody reads, the queue is full, the
    # thread waits, and so does the server: what comes meanwhile stays in the query's log.

    def __init__(self, channel: Channel, following: Following, max_rows: int) -> None:
        """Begin to follow; raises what the server refuses."""
        self._channel, self._following = channel, following
        self._position = following.position or START
        self._queue: queue.Queue[News | PenstockError] = queue.Queue(max_rows)
        self._last: Ended | PenstockError | None = None
        self._is_closed = threading.Event()
        self._response = self._open()
        self.query, self.left_out, self.gap = following.query, 0, False
        self._thread = threading.Thread(
            target=self._take, name=f"penstock-{following.query}", daemon=True
        )
        self._thread.start()

    @property
    def position(self) -> Position:
        """Return the position of the last row handed out: where to resume."""
        return self._position

    @property
    def closed(self) -> bool:
        """Return whether `close` was called."""
        return self._is_closed.is_set()

    @property
    def ended(self) -> bool:
        """Return whether no more rows will come."""
        return self.closed or isinstance(self._last, Ended)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ResultRow:
        if (row := self.next()) is None:
            raise StopIteration
        return row

    def next(self, timeout: float | None = None) -> ResultRow | None:
        """Return the next row, or None where none came in `timeout` seconds or it has ended."""
        until = None if timeout is None else time.monotonic() + timeout
        while not self.ended:
            if isinstance(self._last, PenstockError):
                raise self._last
            left = LOOK_SECONDS if until is None else max(0.0, until - time.monotonic())
            try:
                news = self._queue.get(timeout=min(left, LOOK_SECONDS))
            except queue.Empty:
                if until is not None and time.monotonic() >= until:
                    return None
                continue
            match news:
                case ResultRow():
                    self._position = news.position
                    return news
                case LeftOut(rows):
                    self.left_out += rows or 0
                    self.gap = self.gap or rows is None
                case _:
                    self._last = news
        return None

    def tables(self, timeout: float | None = None) -> Iterator[pa.Table]:
        """Iterate the rest as Arrow tables of what is there; end where `next` gives None."""
        while (row := self.next(timeout)) is not None:
            rows = [row]
            while len(rows) < TABLE_ROWS and (more := self._at_hand()) is not None:
                rows.append(more)
            yield self._following.reader.table(rows)

    def close(self) -> None:
        """Stop reading: iteration ends, also where it waits in another thread."""
        self._is_closed.set()
        # It wakes the thread that reads; what waits in it is not for anybody any more.
        stream = self._response.extensions.get("network_stream")
        held = stream.get_extra_info("socket") if stream is not None else None
        if held is not None:
            with suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def _at_hand(self) -> ResultRow | None:
        return None if self._queue.empty() or self._last is not None else self.next(0)

    def _open(self) -> httpx.Response:
        following = self._following
        following.begin()
        return self._channel.open(requests.follow(following.query, following.position))

    def _take(self) -> None:
        """Put what comes into the queue, and come back where the connection breaks."""
        reached, tries = self._following.position, self._tries()
        try:
            while not self._has_ended():
                if self._following.position != reached:
                    reached, tries = self._following.position, self._tries()
                self._rest(tries)
                if reached is None:
                    self._put(LeftOut(None))  # what came meanwhile cannot be asked for
                self._response = self._open()
        except PenstockError as error:
            self._put(error)
        except Exception as error:  # else who reads would wait for ever
            self._put(ServerError(describe(error)))

    def _has_ended(self) -> bool:
        """Read one connection to its end; say whether it was the query's."""
        try:
            for data in () if self.closed else self._response.iter_bytes():
                for news in self._following.read(data):
                    self._put(news)
                    if isinstance(news, Ended):
                        return True
                if self.closed:
                    break
        except httpx.TransportError:
            pass  # it is made again
        finally:
            with suppress(httpx.TransportError):
                self._response.close()
        return self.closed

    def _rest(self, tries: Tries) -> None:
        """Wait before the next try; raise where it has been too long."""
        if (pause := tries.pause(time.monotonic())) is None:
            raise self._channel.server.breaks_off()
        self._is_closed.wait(pause)

    def _tries(self) -> Tries:
        return Tries(self._channel.server.patience, time.monotonic(), repeatable=True)

    def _put(self, news: News | PenstockError) -> None:
        while not self.closed:
            try:
                self._queue.put(news, timeout=LOOK_SECONDS)
            except queue.Full:
                continue
            return
