"""Penstock: many standing questions over streams, one Spark."""

import importlib
from typing import TYPE_CHECKING, Any

from penstock import errors
from penstock.errors import PenstockError

if TYPE_CHECKING:  # for type checkers and editors; the rest is loaded when it is asked for
    from penstock.client import Connection, connect
    from penstock.functions.library.declare import stream_function
    from penstock.model.functions.user_aggregates import UserAggregate
    from penstock.runtime.loop.supervisor import Settings
    from penstock.runtime.statements.result import Result
    from penstock.runtime.work.subscription import Subscription

__version__ = "0.1.0"
__all__ = [
    "Connection",
    "PenstockError",
    "Result",
    "Settings",
    "Subscription",
    "UserAggregate",
    "connect",
    "errors",
    "stream_function",
]

_PLACES = {
    "Connection": "penstock.client",
    "Result": "penstock.runtime.statements.result",
    "Settings": "penstock.runtime.loop.supervisor",
    "Subscription": "penstock.runtime.work.subscription",
    "UserAggregate": "penstock.model.functions.user_aggregates",
    "connect": "penstock.client",
    "stream_function": "penstock.functions.library.declare",
}


def __getattr__(name: str) -> Any:
    """Load a part only when it is asked for, so that the pure rooms import no Spark."""
    if name not in _PLACES:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)
