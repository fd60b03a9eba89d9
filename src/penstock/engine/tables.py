"""Tables: rows that tuples are joined with, read whole and held as views."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.engine.allowed import Allowed
from penstock.engine.options import (
    Declared,
    flag,
    near_miss,
    one_character,
    one_of,
    read_options,
    text,
)
from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.spark_errors import sentence
from penstock.engine.trains.rows import is_small, write_parquet
from penstock.engine.trains.types import schema_of, spark_schema
from penstock.errors import SourceError, UnknownConnectorError
from penstock.model.definitions import TableDefinition
from penstock.model.own_names import refuse_own
from penstock.model.schema import Schema
from penstock.plan.operators import table_view

OPTIONS = {
    "path": Declared(text, required=True),
    "format": Declared(one_of("json", "csv", "parquet"), required=True),
    "header": Declared(flag, default=True),
    "delimiter": Declared(one_character, default=","),
}


class Tables:
    """Loads tables into views of the sessions that units and the analyst use."""

    def __init__(
        self, sessions: Sessions, directory: Path, allowed: Callable[[], Allowed] = Allowed
    ) -> None:
        """Hold large tables as files below `directory`."""
        self._allowed = allowed
        self._sessions = sessions
        self._views = (sessions.small, sessions.large, sessions.wide, sessions.analysis)
        self._directory = directory

    def load(self, definition: TableDefinition, incarnation: int) -> Schema:
        """Read the table, hold it and return its columns."""
        return self.hold(definition, incarnation, self.read(definition))

    def seen(self, definition: TableDefinition) -> tuple[tuple[str, int, int], ...]:
        """Return name, size and time of change (ns) of each file of the table, without reading."""
        found = []
        top = Path(str(definition.source.option("path")))
        for path in (top, *(top.rglob("*") if top.is_dir() else ())):
            with suppress(FileNotFoundError):  # it may go while we look
                stat = path.stat()
                if S_ISREG(stat.st_mode):
                    found.append((str(path), stat.st_size, stat.st_mtime_ns))
        return tuple(sorted(found))

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
        options = check_table(definition)
        self._allowed().require_readable(options["path"])
        if not Path(options["path"]).exists():
            raise SourceError(
                f"table {definition.name}: there is no {options['path']}", hint="check the path"
            )
        reader = self._sessions.large.read.format(options["format"])
        if options["format"] == "csv":
            reader = reader.options(
                header=options["header"],
                delimiter=options["delimiter"],
                inferSchema=definition.schema is None,
            )
        if definition.schema is not None:
            reader = reader.schema(spark_schema(definition.schema))
            if options["format"] != "parquet":
                reader = reader.option("mode", "FAILFAST")
        try:
            # Java has a working directory of its own, that of its start.
            rows = reader.load(str(Path(options["path"]).absolute())).toArrow()
        except (PySparkException, Py4JError) as error:
            raise SourceError(f"table {definition.name}: {sentence(error)}") from error
        for name in rows.column_names:
            refuse_own(name)
        return rows.combine_chunks()  # Spark stops reading at an empty chunk


def check_table(definition: TableDefinition) -> dict[str, Any]:
    """Return the options of a table's source, or raise what is wrong with them."""
    if definition.source.name != "files":
        raise UnknownConnectorError(
            f"a table cannot come from {definition.source.name}",
            hint=near_miss(definition.source.name, ("files",)),
        )
    return read_options(definition.source, OPTIONS)
