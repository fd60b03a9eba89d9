"""Listening for the clients of a home, and stopping in good order.

The main thread opens the home and waits for a signal: Spark and signals want it. Everything that
listens runs in one thread with one loop.
"""

import asyncio
import socket
import ssl
import threading

import uvicorn
from starlette.types import ASGIApp

from penstock.errors import ConfigurationError, NotAllowedError
from penstock.server.configuration import Configuration
from penstock.server.http.application import application
from penstock.server.metrics.routes import metrics_of
from penstock.server.metrics.routes import routes as metrics_routes
from penstock.server.opening import settings_of
from penstock.server.page.routes import routes as page_routes
from penstock.server.pg.backend import ServedHome
from penstock.server.pg.listener import Limits as PgLimits
from penstock.server.pg.listener import Listener as PgListener
from penstock.server.service import Service
from penstock.server.timed_heads import TimedHeads

IDLE_SECONDS = 75  # longer than clients keep connections that they do not use
DEAF_SECONDS = 1.0  # without taking a byte, after which a stop waits for a client no more
BACKLOG = 2048  # clients that are at the door while one is let in


class Listeners:
    """The thread in which everything listens; made with its addresses taken."""

    def __init__(self, service: Service, app: ASGIApp | None = None) -> None:
        """Take the addresses, so that one that is taken already is told at once."""
        configuration = service.configuration
        settings_of(configuration)  # what cannot be run is told before anybody can come in
        _refuse_open_door(service)
        self._service = service
        self._metrics = metrics_of(service)
        routers = [metrics_routes(self._metrics)]
        routers += [page_routes(service)] if configuration.http_page else []
        self._app = app or self._metrics.requests.around(application(service, routers))
        self._context = tls_context(configuration)
        self.http = bound(configuration.http_host, configuration.http_port)
        self.pg = _bound_pg(configuration)
        self._thread = threading.Thread(target=self._run, name="penstock-listeners", daemon=True)
        self._server: HttpServer | None = None
        self._began = threading.Event()

    def addresses(self) -> list[str]:
        """Return where it listens, as clients write it."""
        scheme = "https" if self._context is not None else "http"
        pg = [f"postgresql://{shown_address(self.pg)}"] if self.pg is not None else []
        return [f"{scheme}://{shown_address(self.http)}", *pg]

    def start(self) -> None:
        """Begin to listen; returns once it does."""
        self._thread.start()
        self._began.wait()

    def stop(self) -> None:
        """Take nothing new, let requests end for some seconds, and return once all is closed."""
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(self._service.configuration.limits_stop + 5)
        self._metrics.close()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        configuration = self._service.configuration
        context = self._context
        settings = uvicorn.Config(
            self._app,
            log_config=None,
            access_log=False,
            lifespan="off",
            limit_concurrency=configuration.limits_connections,
            timeout_graceful_shutdown=max(1, round(configuration.limits_stop)),
            server_header=False,
            http=TimedHeads,
            ws="websockets-sansio",
            proxy_headers=False,
            timeout_keep_alive=IDLE_SECONDS,
            backlog=BACKLOG,
            ssl_context_factory=None if context is None else lambda *_: context,
        )
        self._server = HttpServer(settings)
        limits = PgLimits(configuration.limits_connections, configuration.limits_body)
        pg = PgListener(ServedHome(self._service), context, limits)
        if self.pg is not None:
            await pg.start(self.pg)
        self._began.set()
        try:
            await self._server.serve(sockets=[self.http])
        finally:
            await pg.stop()


class HttpServer(uvicorn.Server):
    """As uvicorn's, but who takes nothing of what is sent holds up no stop."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests end, and cut off who does not read: subscribers resume where they were."""
        cutting = asyncio.ensure_future(self._cut_deaf())
        try:
            await super().shutdown(sockets)
        finally:
            cutting.cancel()

    async def _cut_deaf(self) -> None:
        left = dict[object, int]()  # bytes that each connection had yet to take when last looked at
        while True:
            now = dict[object, int]()
            for each in list(self.server_state.connections):
                size = now[each] = each.transport.get_write_buffer_size()
                if size and size == left.get(each):
                    each.transport.abort()
            left = now
            await asyncio.sleep(DEAF_SECONDS)


def _refuse_open_door(service: Service) -> None:
    """Raise where others than this machine could come in without a token."""
    if not service.configuration.is_loopback and not service.needs_token:
        raise NotAllowedError(
            "without a token the server listens on this machine alone",
            hint="penstock token make NAME makes one; or listen on 127.0.0.1",
        )


def _bound_pg(configuration: Configuration) -> socket.socket | None:
    """Return the socket of PostgreSQL's protocol, where one is asked for."""
    if configuration.pg_port is None:
        return None
    return bound(configuration.pg_host or configuration.http_host, configuration.pg_port)


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that has taken an address, and at which clients wait."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its protocol asyncio knows that it may send small answers at once; else each waits 40 ms.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((host.strip("[]"), port))
        taken.listen(BACKLOG)  # who comes before the loop runs waits, and is not refused
    except OSError as error:
        taken.close()
        raise ConfigurationError(
            f"{host}:{port} cannot be listened on: {error.strerror}",
            hint="--port or --pg-port names another; 0 takes a free one",
        ) from None
    return taken


def shown_address(taken: socket.socket) -> str:
    """Return the address of a socket as clients write it."""
    host, port = taken.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def tls_context(configuration: Configuration) -> ssl.SSLContext | None:
    """Return what listeners speak TLS with, or None where they do not."""
    if configuration.tls_certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(configuration.tls_certificate, configuration.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"the certificate {configuration.tls_certificate} cannot be used: {error}",
            hint="tls.certificate and tls.key name files of PEM that belong together",
        ) from None
    return context
