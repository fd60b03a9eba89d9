"""files(path => 'roads.parquet', format => 'parquet'): a file or a directory of them, by Spark."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.engine.allowed import Allowed
from penstock.engine.options import Declared, flag, one_character, one_of, read_options, text
from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.spark_errors import sentence
from penstock.engine.table_sources.table_source import Seen
from penstock.engine.trains.types import spark_schema
from penstock.errors import SourceError
from penstock.model.definitions import TableDefinition

OPTIONS = {
    "path": Declared(text, required=True, about="a file or a directory"),
    "format": Declared(one_of("json", "csv", "parquet"), required=True, about="of the files"),
    "header": Declared(flag, default=True, about="with csv: the first line names the columns"),
    "delimiter": Declared(one_character, default=",", about="with csv: between two fields"),
}


class FilesTable:
    """One table's files; they have changed where a name, a size or a time has."""

    def __init__(
        self, definition: TableDefinition, sessions: Sessions, allowed: Callable[[], Allowed]
    ) -> None:
        self._definition, self._sessions, self._allowed = definition, sessions, allowed
        self._options = check(definition)

    def seen(self) -> Seen:
        found = []
        top = Path(self._options["path"])
        for path in (top, *(top.rglob("*") if top.is_dir() else ())):
            with suppress(FileNotFoundError):  # it may go while we look
                stat = path.stat()
                if S_ISREG(stat.st_mode):
                    found.append((str(path), stat.st_size, stat.st_mtime_ns))
        return tuple(sorted(found))

    def read(self) -> pa.Table:
        definition, options = self._definition, self._options
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
            return reader.load(str(Path(options["path"]).absolute())).toArrow()
        except (PySparkException, Py4JError) as error:
            raise SourceError(f"table {definition.name}: {sentence(error)}") from error

    def close(self) -> None:
        """Nothing is held."""


def check(definition: TableDefinition) -> dict[str, Any]:
    """Return the options of a table of files, or raise what is wrong with them."""
    return read_options(definition.source, OPTIONS)
