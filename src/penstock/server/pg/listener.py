"""Where clients connect: TLS, requests to cancel, and how many may be here at once."""

import asyncio
import hmac
import ipaddress
import logging
import secrets
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass

from penstock.errors import PenstockError
from penstock.server.pg.backend import Backend
from penstock.server.pg.channel import Channel, error_response, startup_bytes
from penstock.server.pg.connection import Connection
from penstock.server.pg.interrupt import BY_REQUEST
from penstock.server.pg.sqlstate import PROTOCOL, refused
from penstock.server.pg.wire.layout import INT32, Cursor
from penstock.server.pg.wire.messages import (
    CANCEL_REQUEST,
    GSS_REQUEST,
    SSL_REQUEST,
    VERSION,
    BackendKey,
    NegotiateVersion,
    read_startup,
)

LOG = logging.getLogger("penstock.server")
LOGIN_SECONDS = 30.0  # a client that says nothing for so long is not coming
MOST_STARTUP = 10_000  # bytes: PostgreSQL's own limit
INT_BYTES = 4
AT_THE_DOOR = 100  # who may still say why they come when everybody is here: some only cancel
STOPPING = "the server stops"


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections there may be, and how long a message."""

    connections: int = 500
    message_bytes: int = 64 << 20


class Listener:
    """Takes connections on a socket; all in one loop."""

    def __init__(
        self,
        backend: Backend,
        context: ssl.SSLContext | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._backend = backend
        self._context = context
        self._limits = limits or Limits()
        self._connections: dict[int, tuple[BackendKey, Connection]] = {}
        self._channels: set[Channel] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, taken: socket.socket) -> None:
        """Begin to listen on a socket that has its address."""
        self._server = await asyncio.start_server(self._met, sock=taken)

    async def stop(self) -> None:
        """Take nobody new, and tell everybody that it is over."""
        if self._server is None:
            return
        self._server.close()
        for channel in list(self._channels):
            channel.send(error_response(refused("57P01", STOPPING), "FATAL"))
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _met(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._channels) > self._limits.connections + AT_THE_DOOR:
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (streams are served by tasks)
        self._tasks.add(task)
        channel = Channel(reader, writer, self._limits.message_bytes)
        self._channels.add(channel)
        try:
            await self._served(reader, writer, channel)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # it has gone, or is sent away
        except PenstockError as error:
            channel.send(error_response(error, "FATAL"))
        except Exception:
            LOG.exception("a connection failed")
        finally:
            self._channels.discard(channel)
            with suppress(asyncio.CancelledError):
                await channel.close()
            self._tasks.discard(task)  # only now: who stops waits for those that still hang up

    async def _served(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, channel: Channel
    ) -> None:
        async with asyncio.timeout(LOGIN_SECONDS):
            startup = await self._startup(reader, writer, channel)
            if startup is None:
                return
            key = self._new_key()
            connection = Connection(self._backend, channel, startup, key)
            channel.start(connection.gone)
            peer = str((writer.get_extra_info("peername") or ("",))[0])
            is_private = writer.get_extra_info("ssl_object") is not None or _is_here(peer)
            session = await connection.login(peer, is_private)
        if session is None:
            return
        self._connections[key.process] = (key, connection)
        try:
            await connection.serve(session)
        finally:
            del self._connections[key.process]

    async def _startup(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, channel: Channel
    ) -> dict[str, str] | None:
        """Return what a client wants to begin with, or None where it only wanted to cancel."""
        while True:
            size = startup_bytes(await reader.readexactly(INT_BYTES))
            if not INT_BYTES <= size <= MOST_STARTUP:
                raise refused(PROTOCOL, "this is no client of PostgreSQL's protocol 3")
            cursor = Cursor(await reader.readexactly(size))
            code = INT32.read(cursor)
            if code == SSL_REQUEST and self._context is not None:
                if await _has_said_more(reader):
                    raise refused(PROTOCOL, "there is more before the encryption than a request")
                channel.write(b"S")
                await writer.start_tls(self._context)
            elif code in (SSL_REQUEST, GSS_REQUEST):
                channel.write(b"N")
                await channel.drain()
            elif code == CANCEL_REQUEST:
                self._cancel(BackendKey.decoded(cursor.rest()))
                return None
            elif code >> 16 != VERSION:
                raise refused("0A000", f"protocol {code >> 16}.{code & 0xFFFF} is not spoken")
            else:
                return self._admitted(channel, code & 0xFFFF, read_startup(cursor.rest()))

    def _admitted(self, channel: Channel, minor: int, startup: dict[str, str]) -> dict[str, str]:
        unknown = tuple(name for name in startup if name.startswith("_pq_."))
        if minor or unknown:
            channel.send(NegotiateVersion(0, unknown))
        if not startup.get("user"):
            raise refused("28000", "a startup message names a user")
        if len(self._channels) > self._limits.connections:
            most = self._limits.connections
            raise refused("53300", f"{most:,} clients are here already", hint="come again later")
        return {name: value for name, value in startup.items() if name not in unknown}

    def _new_key(self) -> BackendKey:
        process = secrets.randbelow(1 << 31)
        while process in self._connections:
            process = secrets.randbelow(1 << 31)
        return BackendKey(process, secrets.randbits(32))

    def _cancel(self, asked: BackendKey) -> None:
        key, connection = self._connections.get(asked.process, (None, None))
        if key is None or connection is None:
            return
        if hmac.compare_digest(key.secret.to_bytes(4, "big"), asked.secret.to_bytes(4, "big")):
            connection.interrupt.fire(BY_REQUEST)


async def _has_said_more(reader: asyncio.StreamReader) -> bool:
    """Say whether bytes wait that would be taken for encrypted ones (as in CVE-2021-23214)."""
    try:
        async with asyncio.timeout(0):
            return bool(await reader.read(1))
    except TimeoutError:
        return False


def _is_here(peer: str) -> bool:
    """Say whether an address is this machine's own."""
    try:
        return ipaddress.ip_address(peer.partition("%")[0]).is_loopback
    except ValueError:
        return not peer  # a socket of the file system has no address
