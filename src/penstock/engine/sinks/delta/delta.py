"""delta(path => …): rows into a table of Delta Lake, exactly once.

This module needs no package: `target.py`, which does, is loaded when the sink opens.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.options import Declared, flag, local_path, read_options, text
from penstock.engine.sinks.sink import ALONE, Delivery, SinkSurroundings
from penstock.errors import SinkError
from penstock.model.definitions import Connector, QueryDefinition

OPTIONS = {
    "path": Declared(local_path, required=True, about="the table's directory"),
    "create": Declared(flag, default=True, about="make the table where there is none"),
    "partition_by": Declared(text, about="of a table that is made: columns, commas between"),
    "add_columns": Declared(flag, default=False, about="columns that the table lacks are added"),
}


class DeltaSink:
    """One query's rows into one table; a delivery and its number are one version."""

    repeatable = True

    def __init__(self, definition: QueryDefinition, around: SinkSurroundings = ALONE) -> None:
        options = _options(definition)
        self._query, self._around = definition.name, around
        self._path: Path = options["path"].absolute()
        self._options = options
        self._known: int | None = None
        self._target: Any = None

    @classmethod
    def check(cls, definition: QueryDefinition) -> None:
        """Raise what is wrong with the options."""
        _options(definition)

    @property
    def path(self) -> Path:
        """Return the table's directory."""
        return self._path

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise NotAllowedError where the table may not be written."""
        allowed.require_writable(self._path)

    def expect(self, known: int) -> None:
        """Take the number of the last delivery of which the journal knows."""
        self._known = known

    def open(self) -> None:
        self.require_allowed(self._around.allowed())
        module = import_module("penstock.engine.sinks.delta.target")
        target = module.Target(
            self._path,
            f"penstock/{self._around.home()}/{self._query.lower()}",
            partition_by=columns_of(self._options["partition_by"]),
            add_columns=self._options["add_columns"],
            create=self._options["create"],
        )
        last = target.last()
        if self._known is not None and last > self._known:
            raise SinkError(
                f"{self._path} has delivery {last} of query {self._query}, and this home knows "
                f"them up to {self._known}: it is an older copy, or lost power",
                hint="restore the table to the version before these, or write to another path",
            )
        self._target = target

    def write(self, delivery: Delivery) -> None:
        if self._target is None:
            raise SinkError(f"the sink of {self._query} is not open")
        self._target.write(delivery)
        self._known = max(self._known or 0, delivery.number)

    def close(self) -> None:
        self._target = None


def columns_of(given: str | None) -> list[str]:
    """Return the names of a list with commas."""
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def _options(definition: QueryDefinition) -> dict[str, Any]:
    return read_options(definition.sink or Connector("delta"), OPTIONS)
