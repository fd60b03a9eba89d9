"""A table of Delta Lake that a query writes into, exactly once.

A delivery's number is the version of an application transaction (`txn`), in the commit that brings
its rows: both are there or neither. A number that is there already changes nothing. Two commits of
one application at once exclude each other, so a writer that was taken for dead does no harm.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError
from pyarrow import types

from penstock.engine.sinks.sink import Delivery
from penstock.engine.sinks.whole_file import sync_directory, sync_file
from penstock.engine.trains.vectors import shown
from penstock.errors import SinkError, shortened

LOG = "_delta_log"
LONGEST = 500  # of what the library says, in our errors
KINDS = (types.is_integer, types.is_floating, types.is_decimal, types.is_timestamp)


class Target:
    """One query's way into one table, as the application `app`."""

    def __init__(
        self,
        path: Path,
        app: str,
        *,
        partition_by: Sequence[str],
        add_columns: bool,
        create: bool,
    ) -> None:
        self._path, self._app = path, app
        self._partition_by, self._add_columns = list(partition_by), add_columns
        self._create = create

    def last(self) -> int:
        """Return the number of the last delivery that the table has."""
        with self._told():
            table = self._table()
            return _last(table, self._app) if table is not None else 0

    def write(self, delivery: Delivery) -> None:
        """Bring the rows with their number, unless the number is there."""
        with self._told():
            table = self._table()
            if table is None and not self._create:
                raise SinkError(f"{self._path} is no table", hint="create => true makes it")
            if table is not None and _last(table, self._app) >= delivery.number:
                return
            rows = shown(delivery.rows)
            rows = rows if table is None else self._fitted(rows, table)
            write_deltalake(
                self._path if table is None else table,
                rows,
                mode="error" if table is None else "append",
                partition_by=(self._partition_by or None) if table is None else None,
                schema_mode="merge" if self._add_columns else None,
                commit_properties=CommitProperties(
                    app_transactions=[Transaction(self._app, delivery.number)]
                ),
            )
            version = 0 if table is None else table.version() + 1
            _sync(self._path, version, DeltaTable(self._path).version())

    def _table(self) -> DeltaTable | None:
        return DeltaTable(self._path) if DeltaTable.is_deltatable(str(self._path)) else None

    def _fitted(self, rows: pa.Table, table: DeltaTable) -> pa.Table:
        """Return rows in the table's columns, and those that are added behind them."""
        fields = list(pa.schema(table.schema()))
        given = {name.lower(): name for name in rows.column_names}
        strange = [given[name] for name in given if name not in {f.name.lower() for f in fields}]
        if strange and not self._add_columns:
            raise SinkError(
                f"{self._path} has no column {', '.join(strange)}",
                hint=f"it has {', '.join(field.name for field in fields)}; "
                "add_columns => true adds it",
            )
        columns = {
            field.name: _cast(rows[given[field.name.lower()]], field)
            if field.name.lower() in given
            else pa.nulls(rows.num_rows, field.type)
            for field in fields
        }
        return pa.table(columns | {name: rows[name] for name in strange})

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what the library raises into an error that a user can act on."""
        try:
            yield
        except (DeltaError, OSError, pa.ArrowException, ValueError) as error:
            why = shortened(" ".join(str(error).split()), LONGEST)
            raise SinkError(f"{self._path} cannot be written to: {why}") from error


def _last(table: DeltaTable, app: str) -> int:
    return table.transaction_version(app) or 0


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """Return a column as the table's type, where every value has its equal there."""
    alike = any(kind(column.type) and kind(field.type) for kind in KINDS)
    same = column.type.equals(field.type) or str(column.type).removeprefix("large_") == str(
        field.type
    ).removeprefix("large_").replace("_view", "")
    if not (alike or same or types.is_nested(field.type)):
        raise SinkError(
            f"column {field.name} of the table is {field.type}, and the query's is {column.type}",
            hint="cast it in the query",
        )
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise SinkError(f"column {field.name} does not fit {field.type}: {error}") from error


def _sync(path: Path, first: int, last: int) -> None:
    """Put versions of a table on disk: their files, and what the log says of them."""
    for version in range(first, last + 1):
        entry = path / LOG / f"{version:020}.json"
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        for name in (unquote(each["add"]["path"]) for each in actions if "add" in each):
            if (file := path / name).exists():  # else somebody has made it part of another
                sync_file(file)
                sync_directory(file.parent)
        sync_file(entry)
    sync_directory(path / LOG)
    sync_directory(path)
