"""`penstock.connect`: a home in this process, or a server; only the former loads Spark."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

from penstock.errors import BadOptionError
from penstock.remote.urls import is_url

if TYPE_CHECKING:  # what an embedded connection takes is loaded with it, and Spark with that
    from pyspark.sql import SparkSession

    from penstock.client import Connection
    from penstock.clock import Clock
    from penstock.engine.actions.call import Function
    from penstock.engine.trains.buffers import BufferBounds
    from penstock.functions.operators.function import Function as StreamFunction
    from penstock.model.functions.user_aggregates import UserAggregate
    from penstock.remote.async_connection import AsyncRemoteConnection
    from penstock.remote.connection import RemoteConnection
    from penstock.runtime.loop.supervisor import Settings


@overload
def connect(
    home: str, *, token: str | None, ca: str | Path | None = ..., patience: float = ...
) -> "RemoteConnection": ...


@overload
def connect(
    home: str | Path = ...,
    *,
    master: str | None = ...,
    spark: "SparkSession | None" = ...,
    clock: "Clock | None" = ...,
    begin: bool = ...,
    settings: "Settings" = ...,
    bounds: "BufferBounds" = ...,
    aggregates: "Sequence[UserAggregate]" = ...,
    actions: "Mapping[str, Function] | None" = ...,
    commands: Sequence[str] = ...,
    functions: "Sequence[StreamFunction]" = ...,
    hosts: Sequence[str] = ...,
    formats: Sequence[str] = ...,
    writable: Sequence[str | Path] = ...,
    readable: Sequence[str | Path] = ...,
    allow_functions: Sequence[str] = ...,
    spark_settings: Mapping[str, str] | None = ...,
    journal: str | None = ...,
) -> "Connection": ...


def connect(home: str | Path = ".penstock", **options: Any) -> "Connection | RemoteConnection":
    """Open a home in this process, or connect to a server that has one open.

    A directory is opened by `penstock.client.connect`, and a URL (`http://…`, `https://…`) is
    connected to by `penstock.remote.connect.connect`; they say which options there are. For type
    checkers it is a server where a token is given, be it `token=None`.

    Args:
        home: the directory that keeps definitions, progress and results, or the URL of a server.
        **options: those of the one or the other.

    Returns:
        A connection; use it as a context manager, so that it is closed.
    """
    if is_url(home) or "token" in options:  # only a server takes one
        made: RemoteConnection = _remote().connect(str(home), **options)
        return made
    from penstock.client import connect as open_home  # noqa: PLC0415  (it loads Spark)

    return open_home(home, **options)


async def connect_async(url: str, **options: Any) -> "AsyncRemoteConnection":
    """Connect to a server with await; the options are those of `connect` with a URL.

    For type checkers it is `penstock.remote.connect.connect_async`, which says what they are.
    """
    made: AsyncRemoteConnection = await _remote().connect_async(url, **options)
    return made


def _remote() -> ModuleType:
    """Return what connects to servers; BadOptionError where what that needs is not installed."""
    try:
        from penstock.remote import connect as remote  # noqa: PLC0415  (an extra)
    except ModuleNotFoundError as error:
        raise BadOptionError(
            f"a server is asked with {error.name}, which is not installed",
            hint="pip install 'penstock[client]'",
        ) from None
    return remote
