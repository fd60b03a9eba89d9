"""postgres(host => …, database => …, user => …, table => …): rows into a table, exactly once.

This module needs no driver: `target.py`, which does, is loaded when the sink opens.
"""

from importlib import import_module
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.clients.postgres.place import PLACE_OPTIONS, PostgresPlace
from penstock.engine.options import Declared, flag, one_of, read_options, text
from penstock.engine.sinks.sink import ALONE, Delivery, SinkSurroundings
from penstock.errors import BadOptionError, SinkError
from penstock.model.definitions import Connector, QueryDefinition

OPTIONS = {
    **PLACE_OPTIONS,
    "table": Declared(text, required=True, about="the table that rows go into"),
    "mode": Declared(
        one_of("insert", "upsert"), default="insert", about="upsert: a row replaces that of its key"
    ),
    "key": Declared(text, about="with upsert: the key's columns, commas between them"),
    "create": Declared(flag, default=False, about="make the table where it is missing"),
}


class PostgresSink:
    """One query's rows into one table; a delivery and its number are one transaction."""

    repeatable = True

    def __init__(self, definition: QueryDefinition, around: SinkSurroundings = ALONE) -> None:
        options = _options(definition)
        self._place = PostgresPlace.of(options)
        self._query, self._around = definition.name, around
        self._table: str = options["table"]
        self._key = _key(options)
        self._create: bool = options["create"]
        self._known: int | None = None
        self._target: Any = None

    @classmethod
    def check(cls, definition: QueryDefinition) -> None:
        """Raise what is wrong with the options."""
        _options(definition)

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where the operator has not named the server."""
        self._place.require_allowed(allowed)

    def expect(self, known: int) -> None:
        """Take the number of the last delivery of which the journal knows."""
        self._known = known

    def open(self) -> None:
        self.require_allowed(self._around.allowed())
        self.close()
        module = import_module("penstock.engine.sinks.postgres.target")
        table = module.TargetTable(self._table, self._key, self._create)
        target = module.Target(self._place, table, self._around.home(), self._query)
        try:
            self._refuse_unknown(target.open())
        except BaseException:
            target.close()
            raise
        self._target = target

    def write(self, delivery: Delivery) -> None:
        if self._target is None:
            raise SinkError(f"the sink of {self._query} is not open")
        # From now on it may be in, whatever becomes of us.
        self._known = max(self._known or 0, delivery.number)
        self._target.write(delivery)

    def close(self) -> None:
        if self._target is not None:
            self._target.close()
            self._target = None

    def _refuse_unknown(self, last: int) -> None:
        """Raise where the server has deliveries of which the journal has lost all memory.

        What comes next would bear their numbers with other rows, and would be left out in silence.
        """
        if self._known is not None and last > self._known:
            raise SinkError(
                f"{self._place} has delivery {last} of query {self._query}, and this home knows "
                f"them up to {self._known}: it is an older copy, or lost power",
                hint="set the rows of the table right, then set `number` of its row in "
                f"penstock_deliveries to {self._known}, and RESUME QUERY {self._query}",
            )


def _options(definition: QueryDefinition) -> dict[str, Any]:
    options = read_options(definition.sink or Connector("postgres"), OPTIONS)
    if (options["mode"] == "upsert") != bool(_key(options)):
        raise BadOptionError(
            "mode => 'upsert' and key => … of postgres go together",
            hint="postgres(…, mode => 'upsert', key => 'id')",
        )
    return options


def _key(options: dict[str, Any]) -> tuple[str, ...]:
    given = options["key"] or ""
    return tuple(name.strip() for name in given.split(",") if name.strip())
