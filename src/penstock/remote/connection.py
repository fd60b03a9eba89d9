"""A server as a connection: `with penstock.connect("http://…", token="…") as ps: …`."""

import time
from types import TracebackType
from typing import Self

from penstock.errors import PenstockError
from penstock.remote import calls, requests
from penstock.remote.answers import results_of
from penstock.remote.calls import MAX_ROWS
from penstock.remote.channel import Channel, Server
from penstock.remote.requests import IDLE_SECONDS
from penstock.remote.subscription import RemoteSubscription
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.statements.result import Result


class RemoteConnection:
    """A Penstock in another process, which `penstock serve` serves. Usable from several threads.

    Its calls are those of `Connection`, and raise the same errors; what takes Python's own
    functions is for an embedded one alone. A server that is started again is waited for.
    """

    def __init__(self, server: Server) -> None:
        self._channel = Channel(server)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Return where the server is."""
        return self._channel.server.url

    def sql(self, text: str) -> Result:
        """Carry out a script and return what its last statement gave.

        Raises:
            PenstockError: a statement is wrong or could not be carried out; see `script`.
        """
        return calls.last(self.script(text))

    def script(self, text: str) -> list[Result]:
        """Carry out a script and return what each statement gave.

        Where a statement fails, what the script added is dropped again. A script is sent once: a
        connection that breaks meanwhile raises UnreachableError, and it may have been carried out.
        """
        ways = calls.script(text)
        for left, ask in reversed(list(enumerate(reversed(ways)))):
            try:
                return results_of(self._channel.ask(ask))
            except PenstockError as error:
                if not calls.is_other_way(error, left):
                    raise
        return []

    def push(self, stream: str, rows: object) -> int:
        """Hand rows to a push stream, all or none; when this returns they survive a crash.

        Where no answer comes they are sent again, and are taken once all the same.

        Args:
            stream: a stream that was created `FROM push()`.
            rows: a list of mappings; one row as a mapping of single values; columns as a mapping
                of lists or arrays; a DataFrame of pandas or polars; or a table, batch or reader
                of Arrow.

        Returns:
            How many rows these were. (An embedded connection tells of all that the stream has had.)

        Raises:
            BadRowError: a row does not fit the stream's columns; nothing was taken.
        """
        ask, count = calls.push(stream, rows, None)
        self._channel.ask(ask)
        return count

    def push_once(self, stream: str, rows: object, key: str) -> int:
        """Hand rows to a push stream unless they came with this key before.

        Returns:
            How many rows were taken: all, or 0 where they had come before.

        Raises:
            BadRowError: a row does not fit the stream's columns; nothing was taken.
            KeyReusedError: the key came before with other rows.
        """
        ask, _ = calls.push(stream, rows, key)
        return calls.accepted(self._channel.ask(ask))

    def end(self, stream: str) -> None:
        """End a push stream for good: its last windows close."""
        self._channel.ask(calls.end(stream))

    def punctuate(self, stream: str, condition: str) -> None:
        """Promise that no more tuples will come for which a condition such as `car_id = 'x'` holds.

        Windows that wait only for such tuples close at once.
        """
        self.sql(calls.punctuation(stream, condition))

    def subscribe(
        self, query: str, *, after: Position | None = START, max_rows: int = MAX_ROWS
    ) -> RemoteSubscription:
        """Return an iterator over a query's result rows: those that its log keeps, then new ones.

        Args:
            query: the query's name.
            after: the position of a row, to resume behind it; without one, reading begins with the
                first row that the log keeps. None gives only what comes from now on.
            max_rows: how many rows wait in memory; what is more waits in the server's log.
        """
        described = self._channel.ask(calls.description(query, after, max_rows))
        following = calls.following(query, after, described)
        return RemoteSubscription(self._channel, following, max_rows)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all sources have ended and all results are delivered.

        Args:
            timeout: for how many seconds at most; None waits for ever, also for a source that
                never ends.

        Returns:
            True when all is delivered, False after `timeout`.
        """
        calls.check_timeout(timeout)
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = IDLE_SECONDS if until is None else max(0.0, until - time.monotonic())
            if calls.is_idle(self._channel.ask(requests.idle(left))):
                return True
            if until is not None and time.monotonic() >= until:
                return False

    def close(self) -> None:
        """Let go of the server; what runs there goes on."""
        self._channel.close()
