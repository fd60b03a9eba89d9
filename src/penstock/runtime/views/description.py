"""DESCRIBE: the columns of a stream, table, query or event, a rule's parts, a function."""

from collections.abc import Iterable

import pyarrow as pa

from penstock.errors import UnknownNameError
from penstock.model.grids import CELLS
from penstock.model.schema import Schema
from penstock.plan.operators import Operator
from penstock.runtime.names.directory import (
    Directory,
    KnownBase,
    KnownEvent,
    KnownPerspective,
    KnownQuery,
    KnownRule,
    KnownStream,
    KnownTable,
)
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.runtime.names.stream_types import StreamTypes
from penstock.runtime.views.relations.definitions import FUNCTIONS, function_rows
from penstock.runtime.views.relations.rules import RULE_PARTS, rule_parts
from penstock.runtime.views.view import columns

COLUMNS = columns("column STRING, type STRING, note STRING")


def describe(
    directory: Directory, types: StreamTypes, functions: KnownFunctions, name: str
) -> pa.Table:
    """Return what the name stands for, an event as in mode recent."""
    match directory.get(name):
        case KnownStream(definition, scan):
            return _columns(definition.schema, [time.column for time in scan.times])
        case KnownTable(schema=schema):
            return _columns(schema)
        case KnownQuery(root=root):
            return _output(root)
        case KnownEvent() as event:
            return _output(event.root())
        case KnownBase() | KnownPerspective():
            return _columns(CELLS)
        case KnownRule() as rule:
            return pa.Table.from_pylist(rule_parts(rule), RULE_PARTS)
        case None:
            return _apart(types, functions, name)


def _apart(types: StreamTypes, functions: KnownFunctions, name: str) -> pa.Table:
    """Return the type or the function of that name: their names are apart from the others."""
    if (kind := types.find(name)) is not None:
        return _columns(kind.schema, [kind.kind.ordering or ""])
    found = [row for row in function_rows(functions) if row["function"].lower() == name.lower()]
    if not found:
        raise UnknownNameError(
            f"no stream, table, query, event, rule, base, perspective, type or function {name}"
        )
    return pa.Table.from_pylist(found, FUNCTIONS.columns)


def _output(root: Operator) -> pa.Table:
    return _columns(root.schema, [time.column for time in root.times[:1]])


def _columns(schema: Schema, times: Iterable[str] = ()) -> pa.Table:
    rows = [
        {"column": c.name, "type": c.type, "note": "event time" if c.name in times else ""}
        for c in schema
    ]
    return pa.Table.from_pylist(rows, COLUMNS)
