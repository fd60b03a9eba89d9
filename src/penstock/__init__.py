"""Penstock: many standing questions over streams, one Spark."""

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["UserAggregate", "connect"]


def __getattr__(name: str) -> Any:
    """Load the client only when it is asked for, so that the pure rooms import no Spark."""
    if name == "connect":
        return importlib.import_module("penstock.client").connect
    if name == "UserAggregate":
        return importlib.import_module("penstock.model.user_aggregates").UserAggregate
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")
