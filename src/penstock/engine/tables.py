"""Tables: rows that tuples are joined with, read whole and held as views."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.clock import Clock, WallClock
from penstock.engine.allowed import Allowed
from penstock.engine.options import Declared, near_miss
from penstock.engine.spark.application.session import Sessions
from penstock.engine.table_sources import delta, files, postgres
from penstock.engine.table_sources.delta import DeltaTableSource
from penstock.engine.table_sources.files import FilesTable
from penstock.engine.table_sources.postgres import PostgresTable
from penstock.engine.table_sources.table_source import Seen, TableSource
from penstock.engine.trains.rows import is_small, write_parquet
from penstock.engine.trains.types import schema_of
from penstock.errors import UnknownConnectorError
from penstock.model.definitions import TableDefinition
from penstock.model.own_names import refuse_own
from penstock.model.schema import Schema
from penstock.plan.operators import table_view

# What a table may come from, with its options.
TABLES: Mapping[str, Mapping[str, Declared]] = {
    "delta": delta.OPTIONS,
    "files": files.OPTIONS,
    "postgres": postgres.OPTIONS,
}


class Tables:
    """Loads tables into views of the sessions that units and the analyst use."""

    def __init__(
        self,
        sessions: Sessions,
        directory: Path,
        allowed: Callable[[], Allowed] = Allowed,
        clock: Clock | None = None,
    ) -> None:
        """Hold large tables as files below `directory`."""
        self._allowed, self._clock = allowed, clock or WallClock()
        self._sources: dict[TableDefinition, TableSource] = {}
        self._sessions = sessions
        self._views = (sessions.small, sessions.large, sessions.wide, sessions.analysis)
        self._directory = directory

    def load(self, definition: TableDefinition, incarnation: int) -> Schema:
        """Read the table, hold it and return its columns."""
        return self.hold(definition, incarnation, self.read(definition))

    def seen(self, definition: TableDefinition) -> Seen:
        """Return what would be different if the table's rows had changed, without reading."""
        return self._source(definition).seen()

    def hold(
        self,
        definition: TableDefinition,
        incarnation: int,
        rows: pa.Table,
        file: Path | None = None,
    ) -> Schema:
        """Make a table of rows that were read, and return its columns.

        `file` has the same rows, and stays for as long as they are held.
        """
        view = table_view(definition.name, incarnation)
        held = None if is_small(rows) else file or write_parquet(rows, self._directory)
        for session in self._views:
            frame = (
                session.createDataFrame(rows) if held is None else session.read.parquet(str(held))
            )
            frame.createOrReplaceTempView(view)
        if held is None:
            self._sessions.tables[view] = rows
        return schema_of(self._sessions.small.table(view).schema)

    def drop(self, name: str, incarnation: int) -> None:
        """Remove the table's views."""
        view = table_view(name, incarnation)
        self._sessions.tables.pop(view, None)
        for session in self._views:
            session.catalog.dropTempView(view)

    def read(self, definition: TableDefinition) -> pa.Table:
        """Return the table's rows, or raise what is wrong with it."""
        rows = self._source(definition).read()
        for name in rows.column_names:
            refuse_own(name)
        return rows.combine_chunks()  # Spark stops reading at an empty chunk

    def release(self, definition: TableDefinition) -> None:
        """Let go of what is held of a table's source; it is made again where it is asked for."""
        if (source := self._sources.pop(definition, None)) is not None:
            source.close()

    def close(self) -> None:
        """Let go of all sources."""
        for definition in list(self._sources):
            self.release(definition)

    def _source(self, definition: TableDefinition) -> TableSource:
        if definition not in self._sources:
            self._sources[definition] = self._made(definition)
        return self._sources[definition]

    def _made(self, definition: TableDefinition) -> TableSource:
        check_table(definition)
        if definition.source.name == "delta":
            return DeltaTableSource(definition, self._allowed)
        if definition.source.name == "postgres":
            return PostgresTable(definition, self._allowed, self._clock)
        return FilesTable(definition, self._sessions, self._allowed)


def check_table(definition: TableDefinition) -> dict[str, Any]:
    """Return the options of a table's source, or raise what is wrong with them."""
    match definition.source.name:
        case "delta":
            return delta.check(definition)
        case "files":
            return files.check(definition)
        case "postgres":
            return postgres.check(definition)
        case name:
            raise UnknownConnectorError(
                f"a table cannot come from {name}", hint=near_miss(name, TABLES)
            )
