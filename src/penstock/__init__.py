"""Penstock: many standing questions over streams, one Spark."""

from typing import Any

__version__ = "0.1.0"
__all__ = ["connect"]


def __getattr__(name: str) -> Any:
    """Load the client only when it is asked for, so that the pure rooms import no Spark."""
    if name == "connect":
        from penstock.client import connect  # noqa: PLC0415  (lazy on purpose, see above)

        return connect
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")
