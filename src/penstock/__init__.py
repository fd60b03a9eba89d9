"""Penstock: many standing questions over streams, one Spark."""

import importlib
from typing import TYPE_CHECKING, Any

from penstock import errors
from penstock.errors import PenstockError

if TYPE_CHECKING:  # for type checkers and editors; the rest is loaded when it is asked for
    from penstock.client import Connection
    from penstock.entry import connect
    from penstock.functions.library.declare import stream_function
    from penstock.model.functions.user_aggregates import UserAggregate
    from penstock.remote.async_connection import AsyncRemoteConnection
    from penstock.remote.async_subscription import AsyncRemoteSubscription
    from penstock.remote.connect import connect_async
    from penstock.remote.connection import RemoteConnection
    from penstock.remote.subscription import RemoteSubscription
    from penstock.runtime.loop.supervisor import Settings
    from penstock.runtime.statements.result import Result
    from penstock.runtime.work.subscription import Subscription

__version__ = "0.1.0"
__all__ = [
    "AsyncRemoteConnection",
    "AsyncRemoteSubscription",
    "Connection",
    "PenstockError",
    "RemoteConnection",
    "RemoteSubscription",
    "Result",
    "Settings",
    "Subscription",
    "UserAggregate",
    "connect",
    "connect_async",
    "errors",
    "stream_function",
]

_PLACES = {
    "AsyncRemoteConnection": "penstock.remote.async_connection",
    "AsyncRemoteSubscription": "penstock.remote.async_subscription",
    "Connection": "penstock.client",
    "RemoteConnection": "penstock.remote.connection",
    "RemoteSubscription": "penstock.remote.subscription",
    "Result": "penstock.runtime.statements.result",
    "Settings": "penstock.runtime.loop.supervisor",
    "Subscription": "penstock.runtime.work.subscription",
    "UserAggregate": "penstock.model.functions.user_aggregates",
    "connect": "penstock.entry",
    "connect_async": "penstock.entry",
    "stream_function": "penstock.functions.library.declare",
}


def __getattr__(name: str) -> Any:
    """Load a part only when it is asked for, so that the pure rooms import no Spark."""
    if name not in _PLACES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)
