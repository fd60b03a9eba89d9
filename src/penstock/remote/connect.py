"""Connecting to a server, without Spark."""

from pathlib import Path

from penstock.model.arguments import PATH, SECONDS, TEXT, require
from penstock.remote.async_connection import AsyncRemoteConnection
from penstock.remote.channel import Server
from penstock.remote.connection import RemoteConnection
from penstock.remote.patience import PATIENCE_SECONDS


def connect(
    url: str,
    *,
    token: str | None = None,
    ca: str | Path | None = None,
    patience: float = PATIENCE_SECONDS,
) -> RemoteConnection:
    """Connect to a server, which is asked at once whether it is there and takes the token.

    Args:
        url: where it listens, such as `https://penstock.example:8080`.
        token: what `penstock token make` has shown, where the server asks for one.
        ca: a file with the certificate to trust, where that is not a known authority's.
        patience: for how many seconds to try again where the server does not answer, or is being
            opened or closed, before an error is raised.

    Raises:
        NotAuthenticatedError: the server asks for a token, and this is none of its own.
        UnreachableError: no server answers there.
    """
    made = RemoteConnection(_server(url, token, ca, patience))
    try:
        made.wait(0.0)
    except BaseException:
        made.close()
        raise
    return made


async def connect_async(
    url: str,
    *,
    token: str | None = None,
    ca: str | Path | None = None,
    patience: float = PATIENCE_SECONDS,
) -> AsyncRemoteConnection:
    """Connect to a server with await: `async with await penstock.connect_async(url) as ps: …`.

    The arguments, and what is raised, are those of `connect` with a URL.
    """
    made = AsyncRemoteConnection(_server(url, token, ca, patience))
    try:
        await made.wait(0.0)
    except BaseException:
        await made.close()
        raise
    return made


def _server(url: str, token: str | None, ca: str | Path | None, patience: float) -> Server:
    require(
        "penstock.connect",
        url=(url, TEXT),
        token=(token, TEXT.or_none()),
        ca=(ca, PATH.or_none()),
        patience=(patience, SECONDS),
    )
    return Server(url, token, ca, patience)
