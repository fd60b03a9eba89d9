"""Rows by the values of some columns, in directories named as Hive, Spark and Arrow name them."""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.sinks.json_lines import is_nested
from penstock.engine.sinks.plain_text import plain_text
from penstock.errors import SinkError

NULL = "__HIVE_DEFAULT_PARTITION__"
MOST_PARTITIONS = 1_000  # that the rows of one delivery go to: each is a file, put on disk
PLAIN = " !$&'()+,;=@~"  # what needs no escape in a value, beside letters and digits


def by_partition(
    rows: pa.Table, columns: Sequence[str]
) -> Iterator[tuple[PurePosixPath, pa.Table]]:
    """Give the rows of each directory, in their order, without the columns that name it.

    Names have no case. Raises SinkError where the rows cannot be divided so.
    """
    names = [_found(rows, column) for column in columns]
    if len(set(names)) == rows.num_columns:
        raise SinkError("no column is left beside those of partition_by", hint="name fewer")
    paths = _paths(rows, names)
    kinds = len(paths.dictionary)
    if kinds > MOST_PARTITIONS:
        raise SinkError(
            f"one delivery has rows for {kinds:,} directories, and {MOST_PARTITIONS:,} is the most",
            hint="partition by columns with fewer values",
        )
    places = np.asarray(paths.indices)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=kinds))
    rest = rows.drop_columns(names)
    for at, path in enumerate(paths.dictionary.to_pylist()):
        start = ends[at - 1] if at else 0
        yield PurePosixPath(path), rest.take(pa.array(order[start : ends[at]]))


def directory_name(column: str, value: str | None) -> str:
    """Return what a directory is called that holds the rows with a value of a column."""
    return f"{quote(column, safe=PLAIN)}={NULL if not value else quote(value, safe=PLAIN)}"


def _paths(rows: pa.Table, names: Sequence[str]) -> pa.DictionaryArray:
    """Return each row's directory."""
    parts = []
    for name in names:
        column = rows[name].combine_chunks()
        if is_nested(column.type):
            raise SinkError(f"{name} holds {column.type}, which names no directory")
        values = plain_text(column).cast(pa.string()).dictionary_encode(null_encoding="encode")
        labels = [directory_name(name, value) for value in values.dictionary.to_pylist()]
        parts.append(pa.array(labels, pa.string()).take(values.indices))
    return pc.binary_join_element_wise(*parts, "/").dictionary_encode()


def _found(rows: pa.Table, column: str) -> str:
    for name in rows.column_names:
        if name.lower() == column.lower():
            return str(name)
    raise SinkError(
        f"the query has no column {column} to divide its rows by",
        hint=f"it has {', '.join(rows.column_names)}",
    )
