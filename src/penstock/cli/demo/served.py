"""The demo's home, served while it plays and afterwards, for its page."""

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.client import Connection
from penstock.server.configuration import resolved
from penstock.server.serve import Listeners
from penstock.server.service import Service


@contextmanager
def served(connection: Connection, port: int) -> Iterator[str]:
    """Serve an open home on this machine; give the address of its page."""
    flags = {"home": str(connection.system.home.path), "http.port": port}
    service = Service(resolved(flags, {}))
    try:
        listeners = Listeners(service)
        listeners.start()
        service.open(connection)
        try:
            yield listeners.addresses()[0]
        finally:
            service.stop()
            listeners.stop()
    finally:
        service.close()
