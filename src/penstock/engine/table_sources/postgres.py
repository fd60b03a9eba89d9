"""postgres(host => …, table => 'cars', every => …): a table, a view or a query of PostgreSQL.

It is read whole in one snapshot: when the table is made, when a home is opened, and then by the
clock (`every`), by NOTIFY (`notify`), or by both. Nothing of the driver is loaded before that.
"""

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.clock import Clock
from penstock.engine.allowed import Allowed
from penstock.engine.clients.postgres.place import PLACE_OPTIONS, PostgresPlace
from penstock.engine.options import Declared, interval, read_options, text
from penstock.engine.table_sources.table_source import Seen
from penstock.engine.trains.types import arrow_schema
from penstock.engine.trains.vectors import as_lists, with_packed
from penstock.errors import BadOptionError, SourceError
from penstock.model.definitions import TableDefinition
from penstock.model.schema import Schema

OPTIONS = {
    **PLACE_OPTIONS,
    "table": Declared(text, about="the table or view to read"),
    "query": Declared(text, about="a SELECT in its place, in PostgreSQL's SQL"),
    "every": Declared(interval, about="read it anew so often"),
    "notify": Declared(text, about="read it anew at each NOTIFY on this channel"),
}
CLIENT = "penstock.engine.clients.postgres"
LEAST_SECONDS = 1.0  # between two readings, however many notifications come


class PostgresTable:
    """One table; its stamp changes when it is due, and not again before it was read."""

    def __init__(
        self, definition: TableDefinition, allowed: Callable[[], Allowed], clock: Clock
    ) -> None:
        options = check(definition)
        self._schema = definition.schema
        self._place = PostgresPlace.of(options)
        self._table: str | None = options["table"]
        self._query: str | None = options["query"]
        self._every = options["every"].total_seconds() if options["every"] else None
        self._channel: str | None = options["notify"]
        self._allowed, self._clock = allowed, clock
        self._stamp = time.time_ns()  # another one after a restart: what came meanwhile is unknown
        self._read_at: float | None = None  # since the stamp changed
        self._notified = False
        self._listener: Any = None

    def seen(self) -> Seen:
        if self._channel is not None and self._listener is None and self._read_at is not None:
            module = import_module(f"{CLIENT}.listener")
            self._listener = module.Listener(self._place, self._channel, self._told)
        if self._read_at is not None and self._is_due(self._clock.now() - self._read_at):
            self._stamp, self._read_at, self._notified = self._stamp + 1, None, False
        return ((str(self._place), 0, self._stamp),)

    def read(self) -> pa.Table:
        self._place.require_allowed(self._allowed())
        session = import_module(f"{CLIENT}.session")
        reading = import_module(f"{CLIENT}.reading")
        source = (
            session.named(self._place.schema, self._table)
            if self._table is not None
            else session.SQL("({}\n)").format(session.SQL(self._query))
        )
        names = self._schema.names if self._schema is not None else ()
        connection = session.Session(self._place, SourceError)
        try:
            rows = reading.read_rows(connection, source, names)
        finally:
            connection.close()
            self._read_at = self._clock.now()
        return rows if self._schema is None else _fitted(rows, self._schema)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _told(self) -> None:
        self._notified = True

    def _is_due(self, since: float) -> bool:
        by_clock = self._every is not None and since >= self._every
        return by_clock or (self._notified and since >= LEAST_SECONDS)


def check(definition: TableDefinition) -> dict[str, Any]:
    """Return the options of a table from PostgreSQL, or raise what is wrong with them."""
    options = read_options(definition.source, OPTIONS)
    if (options["table"] is None) == (options["query"] is None):
        raise BadOptionError(
            "a table from postgres needs table => … or query => …, and not both",
            hint="postgres(…, table => 'cars')",
        )
    return options


def _fitted(rows: pa.Table, schema: Schema) -> pa.Table:
    """Return the rows with the declared names and types."""
    wanted = arrow_schema(as_lists(schema))
    try:
        table, wrong = with_packed(rows.rename_columns(wanted.names).cast(wanted), schema)
    except pa.ArrowException as error:
        raise SourceError(
            f"the rows do not fit {schema.ddl()}: {error}",
            hint="leave the columns out to take the types that PostgreSQL has",
        ) from error
    if pc.any(wrong).as_py():
        raise SourceError("an array is no vector", hint="a vector holds no NULL")
    return table
