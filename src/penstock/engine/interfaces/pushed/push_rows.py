"""The forms in which Python hands rows to `push`, each made a table of the stream's schema.

A mapping is one row where its values are scalars, and columns where they are sequences; text and
bytes are values, never sequences. Frames of any library are taken by Arrow's PyCapsule interface,
so that none of these libraries is needed here.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from penstock.engine.interfaces.formats.casts import is_list
from penstock.engine.interfaces.rows import (
    WRONG,
    array_of,
    cast_column,
    named,
    table_of_rows,
    table_of_table,
)
from penstock.engine.trains.types import vectors_in
from penstock.engine.trains.vectors import column_of
from penstock.errors import BadRowError

HINT = (
    "push takes a row as a mapping, a list of such rows, a mapping of columns, a pandas or polars "
    "DataFrame, and Arrow's tables and record batches"
)
TEXTS = (str, bytes, bytearray, memoryview)
CAPSULE = "__arrow_c_array__"
MATRIX = 2  # dimensions of numpy's array that has a vector in each of its rows


def table_of(given: object, schema: pa.Schema, *, lenient: bool = False) -> pa.Table:
    """Return what was pushed in the schema, missing columns null; BadRowError where it misfits.

    Where it is `lenient`, a number without a fraction is a whole number, whatever its type.
    """
    if isinstance(given, Mapping):
        return _of_mapping(given, schema, lenient)
    table = _as_arrow(given)
    if table is not None:
        return table_of_table(table, schema, lenient=lenient)
    if isinstance(given, TEXTS) or not isinstance(given, Iterable):
        raise BadRowError(f"{type(given).__name__} holds no rows", hint=HINT)
    return table_of_rows(list(given), schema, lenient=lenient)


def _as_arrow(given: object) -> pa.Table | None:
    """Return a frame of Arrow's, pandas or any library with Arrow's interface, or None."""
    try:
        if isinstance(given, pa.Table):
            return given
        if _is_of_pandas(given) and hasattr(
            given, "columns"
        ):  # its own export would take the index for a column
            return pa.Table.from_pandas(given, preserve_index=False)
        if hasattr(given, "__arrow_c_stream__") or hasattr(given, CAPSULE):
            return pa.table(given)
    except WRONG as error:
        raise BadRowError(f"the {type(given).__name__} does not become Arrow: {error}") from error
    return None


def _is_of_pandas(given: object) -> bool:
    return type(given).__module__.partition(".")[0] == "pandas"


def _of_mapping(given: Mapping[Any, Any], schema: pa.Schema, lenient: bool) -> pa.Table:
    """Return one row or columns, whichever the values are."""
    names = named(given, schema)
    single = [key for key in given if not _is_column(given[key])]
    if not single:
        return _of_columns({names[key]: given[key] for key in given}, schema, lenient)
    fields = {key: schema.field(name) for key, name in names.items()}
    for key, field in fields.items():
        if key not in single and not _holds_lists(field):
            raise BadRowError(
                f"row 0, column {field.name}: it holds many values and {single[0]} holds one",
                hint="a mapping is one row of single values, or columns that are lists alike",
            )
    return table_of_rows([given], schema, lenient=lenient)


def _is_column(value: object) -> bool:
    """Say whether a value is a sequence of values."""
    if isinstance(value, (*TEXTS, Mapping, pa.Scalar)):
        return False
    if isinstance(value, np.ndarray):
        return bool(value.ndim)
    return isinstance(value, Iterable) or hasattr(value, CAPSULE)


def _holds_lists(field: pa.Field) -> bool:
    """Say whether one value of a column may itself be a sequence."""
    vector = field.name in vectors_in(pa.schema([field]))
    return vector or is_list(field.type) or bool(types.is_map(field.type))


def _of_columns(columns: Mapping[str, Any], schema: pa.Schema, lenient: bool) -> pa.Table:
    made = {name: _column(values, schema.field(name), lenient) for name, values in columns.items()}
    lengths = {len(column): name for name, column in made.items()}
    if len(lengths) > 1:
        few, many = min(lengths), max(lengths)
        raise BadRowError(
            f"row {few}, column {lengths[few]}: it has {few} values and {lengths[many]} has {many}",
            hint="all columns of a push have the same length; None stands for a missing value",
        )
    count = max(lengths, default=0)
    arrays = [
        made[field.name] if field.name in made else pa.nulls(count, field.type) for field in schema
    ]
    return pa.table(arrays, schema=schema)


def _column(values: Any, field: pa.Field, lenient: bool) -> pa.Array | pa.ChunkedArray:
    """Return one column, values of Python's checked one by one as in rows."""
    if isinstance(values, set | frozenset):
        raise BadRowError(f"row 0, column {field.name}: a set has no order", hint="give a list")
    kind = vectors_in(pa.schema([field])).get(field.name)
    try:
        if isinstance(values, np.ndarray) and values.ndim >= MATRIX:
            return column_of(values, kind) if kind else array_of(values.tolist(), field)
        array = _as_array(values)
    except WRONG as error:
        raise BadRowError(f"row 0, column {field.name}: {error}") from error
    if array is None:
        return array_of(list(values), field, lenient=lenient)
    return cast_column(array, field, lenient=lenient)


def _as_array(values: Any) -> pa.ChunkedArray | None:
    """Return what holds Arrow's or numpy's own values as Arrow, and None of Python's objects."""
    if isinstance(values, pa.ChunkedArray):
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return pa.chunked_array([pa.array(values)])
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    if _is_of_pandas(values) or isinstance(values, pa.Array) or hasattr(values, CAPSULE):
        made = pa.array(values)
        return made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made])
    return None
