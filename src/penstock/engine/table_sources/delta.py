"""delta(path => …): a table of Delta Lake, as it is or as it was; read anew at each new version."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.engine.allowed import Allowed
from penstock.engine.options import Declared, local_path, read_options, whole
from penstock.engine.table_sources.table_source import Seen
from penstock.engine.trains.types import arrow_schema
from penstock.errors import SourceError
from penstock.model.definitions import TableDefinition

OPTIONS = {
    "path": Declared(local_path, required=True, about="the table's directory"),
    "version": Declared(whole(at_least=0), about="as it was at that version, for ever"),
}


class DeltaTableSource:
    """One table; it has changed where its log has a new version."""

    def __init__(self, definition: TableDefinition, allowed: Callable[[], Allowed]) -> None:
        options = check(definition)
        self._name, self._schema, self._allowed = definition.name, definition.schema, allowed
        self._path: Path = options["path"].absolute()
        self._version: int | None = options["version"]

    def seen(self) -> Seen:
        if self._version is not None:
            return ((str(self._path), 0, self._version),)
        names = (path.stem for path in (self._path / "_delta_log").glob("*.json"))
        return ((str(self._path), 0, max((int(n) for n in names if n.isdigit()), default=-1)),)

    def read(self) -> pa.Table:
        self._allowed().require_readable(str(self._path))
        deltalake = import_module("deltalake")
        try:
            table = deltalake.DeltaTable(self._path, version=self._version)
            if self._schema is None:
                return table.to_pyarrow_table()
            wanted = arrow_schema(self._schema)
            has = {field.name.lower(): field.name for field in pa.schema(table.schema())}
            names = [has.get(name.lower(), name) for name in wanted.names]
            return table.to_pyarrow_table(columns=names).rename_columns(wanted.names).cast(wanted)
        except (deltalake.exceptions.DeltaError, OSError, ValueError, pa.ArrowException) as error:
            why = " ".join(str(error).split())
            raise SourceError(f"table {self._name}: {self._path} cannot be read: {why}") from error

    def close(self) -> None:
        """Nothing is held."""


def check(definition: TableDefinition) -> dict[str, Any]:
    """Return the options of a table of Delta Lake, or raise what is wrong with them."""
    return read_options(definition.source, OPTIONS)
