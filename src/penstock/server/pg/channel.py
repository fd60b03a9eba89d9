"""The bytes of one connection: messages in, as they come, and messages out."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from penstock.errors import PenstockError
from penstock.server.pg.sqlstate import refused, state_of
from penstock.server.pg.wire.layout import INT32
from penstock.server.pg.wire.messages import (
    FROM_CLIENT,
    ErrorResponse,
    Message,
    NoticeResponse,
    Terminate,
)

AHEAD = 128  # messages that are read before they are answered
MOST_UNANSWERED = 256  # bytes of a message before its client is known: passwords are short
HEAD = 5  # a letter and a length


class Channel:
    """Messages of a client; a task of its own reads them, so that one that goes is noticed."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, most_bytes: int
    ) -> None:
        self._reader = reader
        self._writer = writer
        self.most_bytes = MOST_UNANSWERED + 4096
        self._most_known = most_bytes
        self._messages: asyncio.Queue[tuple[Message | PenstockError, int]] = asyncio.Queue(AHEAD)
        self._waiting = 0  # bytes of messages that are read, and not answered yet
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._pump: asyncio.Task[None] | None = None

    def start(self, on_gone: Callable[[], None]) -> None:
        """Begin to read; `on_gone` is called where the client goes."""
        self._pump = asyncio.create_task(self._read_all(on_gone))

    def trust(self) -> None:
        """Take long messages from now on."""
        self.most_bytes = self._most_known

    async def next(self) -> Message:
        """Return the client's next message; Terminate where it has gone."""
        found, size = await self._messages.get()
        self._waiting -= size
        if self._waiting <= self.most_bytes:
            self._has_room.set()
        if isinstance(found, PenstockError):
            raise found
        return found

    def write(self, data: bytes) -> None:
        """Send bytes, when there is time."""
        self._writer.write(data)

    def send(self, *messages: Message) -> None:
        """Send messages, when there is time."""
        self.write(b"".join(message.encoded() for message in messages))

    async def drain(self) -> None:
        """Wait while too much is not sent yet."""
        with suppress(ConnectionError):
            await self._writer.drain()

    async def close(self) -> None:
        """Send what is left, and hang up."""
        if self._pump is not None:
            self._pump.cancel()
        with suppress(OSError, asyncio.TimeoutError):
            self._writer.close()
            await asyncio.wait_for(self._writer.wait_closed(), 1)

    async def _read_all(self, on_gone: Callable[[], None]) -> None:
        try:
            while True:
                await self._has_room.wait()
                await self._put(*await self._read())
        except (asyncio.IncompleteReadError, OSError):
            on_gone()
            await self._put(Terminate())
        except PenstockError as error:
            await self._put(error)

    async def _put(self, found: Message | PenstockError, size: int = 0) -> None:
        self._waiting += size
        if self._waiting > self.most_bytes:
            self._has_room.clear()
        await self._messages.put((found, size))

    async def _read(self) -> tuple[Message, int]:
        head = await self._reader.readexactly(HEAD)
        letter, size = chr(head[0]), int.from_bytes(head[1:], "big", signed=True) - 4
        kind = FROM_CLIENT.get(letter)
        if kind is None or size < 0:
            raise refused("08P01", f"there is no message {letter!r}")
        if size > self.most_bytes:
            raise refused("54000", f"a message has {size:,} bytes, over {self.most_bytes:,}")
        return kind.decoded(await self._reader.readexactly(size)), size


def error_response(error: PenstockError, severity: str = "ERROR") -> ErrorResponse:
    """Return an error as clients read it: code, message, hint, and the character where it is."""
    told = [("S", severity), ("V", severity), ("C", state_of(error)), ("M", error.message)]
    if error.hint:
        told.append(("H", error.hint))
    if (place := error.place) is not None and place.source:
        lines = place.source.split("\n")[: place.line - 1]
        offset = sum(len(line) + 1 for line in lines) + place.column
        told.append(("P", str(offset)))
    return ErrorResponse((*told, ("R", error.code)))


def notice(severity: str, message: str) -> NoticeResponse:
    """Return something to know."""
    state = "01000" if severity == "WARNING" else "00000"
    fields = (("S", severity), ("V", severity), ("C", state), ("M", message))
    return NoticeResponse(fields)


def startup_bytes(head: bytes) -> int:
    """Return how many bytes a startup message has after its length."""
    return int.from_bytes(head, "big", signed=True) - len(INT32.write(0))
