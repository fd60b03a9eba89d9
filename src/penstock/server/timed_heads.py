"""HTTP/1.1 as uvicorn speaks it by h11, with a time limit for the head of a request.

uvicorn limits how long a connection may rest between requests, and not how long the first one, or
one that comes letter by letter, may take. Without a limit a client without a token could hold all
connections there may be for good. h11 also bounds a head's bytes, which httptools does not.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


class TimedHeads(H11Protocol):
    """One connection; it is closed where a head has begun, or is awaited first, for too long."""

    head_seconds = 30.0
    _too_late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take bytes; where they are not the whole of a head, the rest has to come in time."""
        super().data_received(data)
        is_upgraded = self.transport.get_protocol() is not self
        cycle: RequestResponseCycle | None = self.cycle
        if is_upgraded or (cycle is not None and not cycle.response_complete):
            self._wait_no_more()
        elif self._too_late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the limit go."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._too_late = self.loop.call_later(self.head_seconds, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._too_late is not None:
            self._too_late.cancel()
            self._too_late = None
