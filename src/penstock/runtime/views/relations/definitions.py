"""`system.definitions`, `system.tables`, `system.types` and `system.functions`: what there is."""

from collections.abc import Iterator

from penstock.catalog import Catalog
from penstock.functions.operators.function import Function
from penstock.model.definitions import FunctionDefinition, PythonFunction
from penstock.runtime.names.directory import Directory
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.runtime.names.stream_types import StreamTypes, catalog_name
from penstock.runtime.sources.table_versions import TableVersions
from penstock.runtime.views.view import Row, View, columns, first_line


def definition_rows(catalog: Catalog) -> Iterator[Row]:
    """Yield a row for everything that was defined, with the statement that makes it again."""
    for entry in catalog.all():
        name = entry.name.removeprefix(catalog_name(entry.kind, ""))
        yield {"kind": entry.kind.lower(), "name": name, "sql": entry.text}


def table_rows(directory: Directory, tables: TableVersions) -> Iterator[Row]:
    """Yield a row for every table, with the version that is read now."""
    for known in directory.tables():
        live = tables.of(known.definition.name, known.incarnation)
        yield {
            "table": known.definition.name,
            "source": known.definition.source.name,
            "columns": len(known.schema),
            "rows": live.rows,
            "version": live.version,
            "read_at": round(live.read_at * 1e6),
            "cause": first_line(live.cause),
        }


def type_rows(types: StreamTypes) -> Iterator[Row]:
    """Yield a row for each column of each type."""
    for known in types:
        row = {"type": known.definition.name, "under": known.definition.under or None}
        for column in known.schema:
            yield row | {"column": column.name, "is": column.type}


def function_rows(functions: KnownFunctions) -> Iterator[Row]:
    """Yield a row for each function, those in SQL last."""
    for each in functions.registry:
        yield _row(each, functions.references.get(each.name.lower()))
    yield from map(_written_row, functions.written.values())


def _row(function: Function, kept: PythonFunction | None) -> Row:
    return {
        "function": function.name,
        "kind": function.role.value,
        "usage": function.usage(),
        "language": "built in" if kept is None else "python",
        "version": function.version,
        "source": "" if kept is None else kept.reference,
    }


def _written_row(definition: FunctionDefinition) -> Row:
    parameters = ", ".join(f"{each.name} {each.type}" for each in definition.parameters)
    shown = ", ".join(filter(None, [f"{definition.stream} {definition.takes}", parameters]))
    return {
        "function": definition.name,
        "kind": "select",
        "usage": f"{definition.name}({shown}) RETURNS {definition.returns}",
        "language": "sql",
        "version": 1,
        "source": definition.body,
    }


DEFINITIONS = View(
    "definitions",
    "everything that was defined, as SQL",
    columns("kind STRING, name STRING, sql STRING"),
    lambda of: definition_rows(of.catalog),
)
TABLES = View(
    "tables",
    "tables, and the version of each that is read now",
    columns(
        "table STRING, source STRING, columns BIGINT, rows BIGINT, version BIGINT, "
        "read_at TIMESTAMP, cause STRING"
    ),
    lambda of: table_rows(of.directory, of.tables),
)
TYPES = View(
    "types",
    "stream types, a row for each column",
    columns("type STRING, under STRING, column STRING, is STRING"),
    lambda of: type_rows(of.types),
)
FUNCTIONS = View(
    "functions",
    "functions that flows and FROM may name",
    columns(
        "function STRING, kind STRING, usage STRING, language STRING, version BIGINT, source STRING"
    ),
    lambda of: function_rows(of.functions),
)
