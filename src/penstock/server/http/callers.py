"""Who asks, by the token that a request shows."""

from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection

from penstock.errors import NotAuthenticatedError
from penstock.server.access import Caller
from penstock.server.service import Service

BEARER = HTTPBearer(auto_error=False, description="a token that `penstock token make` has shown")
# A browser's WebSocket sends no headers of ours: it names the token among its subprotocols.
SUBPROTOCOL, BY_SUBPROTOCOL = "penstock", "bearer."


def service_of(connection: HTTPConnection) -> Service:
    """Return the service behind an application."""
    service: Service = connection.app.state.service
    return service


def caller_of(connection: HTTPConnection) -> Caller:
    """Return who asks, or raise NotAuthenticatedError."""
    peer = connection.client.host if connection.client else ""
    caller = service_of(connection).caller(token_of(connection), peer)
    connection.state.caller = caller.name
    return caller


def token_of(connection: HTTPConnection) -> str | None:
    """Return the token that a request shows, if any."""
    header = connection.headers.get("authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise NotAuthenticatedError(
                "the Authorization header has no bearer token",
                hint="send Authorization: Bearer TOKEN",
            )
        return token.strip()
    if connection.scope["type"] == "websocket":
        offered = connection.headers.get("sec-websocket-protocol", "")
        for each in map(str.strip, offered.split(",")):
            if each.startswith(BY_SUBPROTOCOL):
                return each.removeprefix(BY_SUBPROTOCOL)
    return None


Asking = Annotated[Caller, Depends(caller_of)]
Serving = Annotated[Service, Depends(service_of)]
