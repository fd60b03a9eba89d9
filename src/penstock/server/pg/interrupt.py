"""What ends a statement before its end: a request to cancel, a time limit, a client that went."""

import asyncio
from collections.abc import Callable

from penstock.errors import WireError
from penstock.server.pg.sqlstate import CANCELLED, refused

BY_REQUEST = "the statement was cancelled"
BY_TIME = "the statement took longer than statement_timeout"
GONE = "the client has gone"


class Interrupt:
    """Belongs to one connection; in its loop's thread alone. `on_fire` ends what threads do."""

    def __init__(self) -> None:
        self._fired = asyncio.Event()
        self._cause = ""
        self._timer: asyncio.TimerHandle | None = None
        self._on_fire: Callable[[], None] | None = None

    def begin(self, seconds: float | None) -> None:
        """Begin another statement: what came before does not concern it."""
        self.end()
        if self._cause != GONE:
            self._fired.clear()
            self._cause = ""
        if seconds is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(seconds, self.fire, BY_TIME)

    def end(self) -> None:
        """Let the time limit go."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def fire(self, cause: str) -> None:
        """End the statement that runs."""
        self._cause = self._cause or cause
        self._fired.set()
        if self._on_fire is not None:
            self._on_fire()

    def during(self, on_fire: Callable[[], None] | None) -> None:
        """Call a function where it fires from now on; None for none."""
        self._on_fire = on_fire
        if self._cause and on_fire is not None:
            on_fire()

    @property
    def error(self) -> WireError:
        """Return what the client is told."""
        return refused(CANCELLED, self._cause or BY_REQUEST)

    def check(self) -> None:
        """Raise where it has fired."""
        if self._cause:
            raise self.error

    async def wait_for(self, event: asyncio.Event) -> None:
        """Wait for an event, or raise where this fires before."""
        waits = [asyncio.ensure_future(each.wait()) for each in (event, self._fired)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        self.check()
