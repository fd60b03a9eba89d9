"""What went wrong in a server since it was last asked: told once."""

import time
from typing import TYPE_CHECKING

from penstock.errors import PenstockError

if TYPE_CHECKING:  # what a client needs is an extra
    from penstock.remote.connection import RemoteConnection

TROUBLES = "SELECT query, state, cause FROM system.queries WHERE state IN ('FAILED', 'SUSPENDED')"
PAUSE_SECONDS = 1.0  # between two questions


class ServerNews:
    """Watches the queries of a server; what is wrong already at the beginning is no news."""

    def __init__(self, connection: "RemoteConnection") -> None:
        self._connection = connection
        self._told: set[tuple[str, str, str]] = set()
        self._asked = 0.0
        self.fresh()

    def fresh(self) -> list[str]:
        """Return what is new, each as a few lines; nothing where the server does not say."""
        now = time.monotonic()
        if now < self._asked + PAUSE_SECONDS:
            return []
        self._asked = now
        try:
            table = self._connection.sql(TROUBLES).table
        except PenstockError:
            return []  # what is asked for itself tells it
        found = [tuple(row.values()) for row in table.to_pylist()] if table is not None else []
        new = [each for each in found if each not in self._told]
        self._told |= set(new)
        return [f"query {name} is {state.lower()}:\n  {cause}" for name, state, cause in new]
