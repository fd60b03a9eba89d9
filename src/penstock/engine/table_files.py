"""Adding to a table: one more file in its directory, there whole or not at all."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.sinks.csv_text import csv_text
from penstock.engine.sinks.json_lines import json_lines
from penstock.engine.sinks.whole_file import write_whole
from penstock.engine.tables import check_table
from penstock.errors import ActionError, BadQueryError, NotYetError
from penstock.model.definitions import TableDefinition


def check_addable(definition: TableDefinition) -> None:
    """Raise where nothing can be added to a table."""
    if definition.source.name != "files":
        raise BadQueryError(
            f"table {definition.name} comes from {definition.source.name}, "
            "and rules add rows to files alone",
            hint="let a query write INTO it instead",
        )
    options = check_table(definition)
    if not Path(options["path"]).is_dir():
        raise BadQueryError(
            f"table {definition.name} is one file, and rules add files to a directory",
            hint="let its path be the directory",
        )
    if options["format"] == "csv" and options["delimiter"] != ",":
        raise NotYetError("rules add to tables of csv only where a comma is the delimiter")


def add_rows(definition: TableDefinition, rows: pa.Table, name: str) -> None:
    """Put rows into a file of that name in the table's directory, in place of one that is there."""
    options = check_table(definition)
    path = Path(options["path"]) / f"{name}.{options['format']}"
    try:
        write_whole(path, _packed(rows, options), sync=True)
    except (OSError, pa.ArrowException) as error:
        raise ActionError(f"table {definition.name} cannot be added to: {error}") from error


def _packed(rows: pa.Table, options: dict[str, Any]) -> bytes | pa.Buffer:
    match options["format"]:
        case "csv":
            return csv_text(rows, header=options["header"])
        case "parquet":
            out = pa.BufferOutputStream()
            pq.write_table(rows, out)
            return out.getvalue()
        case _:
            return json_lines(rows)
