"""Rows of tables that have different columns, in one table."""

import json
from collections.abc import Sequence

import pyarrow as pa


def unlike_rows(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of all tables, with NULL in the columns that theirs has not.

    Names have no case. A column that has different types is text: JSON, or a string as it is.
    """
    first: dict[str, pa.Field] = {}
    texts: set[str] = set()
    for field in (field for table in tables for field in table.schema):
        known = first.setdefault(field.name.lower(), field)
        if known.type != field.type:
            texts.add(known.name)
    named = [_named(table, [first[n.lower()].name for n in table.column_names]) for table in tables]
    return pa.concat_tables([_told(each, texts) for each in named], promote_options="default")


def _named(table: pa.Table, names: list[str]) -> pa.Table:
    return table if names == table.column_names else table.rename_columns(names)


def _told(table: pa.Table, texts: set[str]) -> pa.Table:
    """Return the table with some of its columns as text."""
    for place, name in enumerate(table.column_names):
        if name in texts:
            values = [_text(value) for value in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(values, pa.string()))
    return table


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, default=str) if isinstance(value, bool | list | dict) else str(value)
