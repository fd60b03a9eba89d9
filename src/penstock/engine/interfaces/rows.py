"""Pushed rows as Arrow: checked value by value, so that nothing is rounded or guessed."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types

from penstock.engine.interfaces.formats.casts import cast, is_bytes, is_list, is_same_kind, is_text
from penstock.engine.trains.types import vectors_in
from penstock.engine.trains.vectors import as_vector, is_vector_like, packed
from penstock.errors import BadRowError, quoted_value, shortened
from penstock.functions.data.vectors import Kind
from penstock.model.functions.vectors import MOST_BYTES

Cell = Callable[[Any], Any]

MISSING = ("NAType", "NaTType")  # what pandas puts in the place of None
WRONG = (TypeError, ValueError, ArithmeticError, pa.ArrowException)


def table_of_rows(
    rows: Sequence[Mapping[str, Any]], schema: pa.Schema, *, lenient: bool = False
) -> pa.Table:
    """Return the rows in the schema, missing columns null; BadRowError where one does not fit."""
    columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in schema.names}
    for at, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise BadRowError(
                f"row {at} is {type(row).__name__}, and not a mapping of columns to values",
                hint="a row is a dict such as {'id': 'a', 'mph': 50}",
            )
        for key, name in named(row, schema, at).items():
            columns[name][at] = row[key]
    arrays = [array_of(columns[field.name], field, lenient=lenient) for field in schema]
    return pa.table(arrays, schema=schema)


def named(keys: Iterable[Any], schema: pa.Schema, at: int = 0) -> dict[Any, str]:
    """Return which column each key of a row, or each column of rows, is for.

    BadRowError where one is for none, or two are for the same: names have no case.
    """
    names = {name.lower(): name for name in schema.names}
    found: dict[str, Any] = {}
    for key in keys:
        name = names.get(key.lower()) if isinstance(key, str) else None
        if name is None:
            raise _unknown(at, key, schema)
        if name in found:
            raise BadRowError(
                f"row {at}, column {name}: it is given twice, as {found[name]} and as {key}",
                hint="names have no case; keep one of the two",
            )
        found[name] = key
    return {key: name for name, key in found.items()}


def table_of_table(rows: pa.Table, schema: pa.Schema, *, lenient: bool = False) -> pa.Table:
    """Return the table in the schema, missing columns null; BadRowError where it does not fit."""
    given = {name: key for key, name in named(rows.column_names, schema).items()}
    columns = []
    for field in schema:
        key = given.get(field.name)
        missing = pa.nulls(rows.num_rows, field.type)
        columns.append(missing if key is None else cast_column(rows[key], field, lenient=lenient))
    return pa.table(columns, schema=schema)


def require_times(table: pa.Table, time_column: str | None) -> None:
    """Raise BadRowError where an event time is null."""
    if time_column is not None and table[time_column].null_count:
        at = table[time_column].is_null().index(True).as_py()
        raise BadRowError(
            f"row {at}, column {time_column}: the event time is null",
            hint="every row of a stream with TIMESTAMP BY has a time",
        )


def _unknown(at: int, name: object, schema: pa.Schema) -> BadRowError:
    return BadRowError(
        f"row {at}, column {shortened(str(name))}: the stream has no such column",
        hint=f"there is {', '.join(schema.names)}",
    )


def _wrong(at: int, field: pa.Field, value: object, error: Exception) -> BadRowError:
    return BadRowError(
        f"row {at}, column {field.name}: {quoted_value(value)} does not fit {field.type}",
        hint=shortened(str(error)),
    )


def array_of(values: list[Any], field: pa.Field, *, lenient: bool = False) -> pa.Array:
    """Return Python's values as a column, each checked; BadRowError where one does not fit."""
    vector = vectors_in(pa.schema([field])).get(field.name)
    cell = _cell(field.type, lenient) if vector is None else _vector(vector)
    taken = [None] * len(values)
    for at, value in enumerate(values):
        if value is None or type(value).__name__ in MISSING:
            continue
        try:
            taken[at] = cell(value)
        except WRONG as error:
            raise _wrong(at, field, value, error) from error
    try:
        return pa.array(taken, field.type)
    except WRONG as error:
        at = next(at for at, value in enumerate(taken) if not _fits(value, field.type))
        raise _wrong(at, field, taken[at], error) from error


def _fits(value: Any, kind: pa.DataType) -> bool:
    try:
        pa.array([value], kind)
    except WRONG:
        return False
    return True


def _vector(kind: Kind) -> Cell:
    return lambda value: as_vector(value, kind)


def _packed(column: pa.ChunkedArray, field: pa.Field, kind: Kind) -> pa.Array:
    if not is_vector_like(column.type):
        raise BadRowError(f"row 0, column {field.name}: {column.type} does not fit {kind.value}")
    vectors, wrong = packed(column, kind)
    if wrong.true_count:
        at = wrong.index(True).as_py()
        raise BadRowError(
            f"row {at}, column {field.name}: it is no {kind.value}",
            hint="a vector holds no NULL, complex elements are pairs, bytes whole elements, and it "
            f"takes at most {MOST_BYTES >> 20} MiB",
        )
    return vectors


def cast_column(
    column: pa.ChunkedArray, field: pa.Field, *, lenient: bool = False
) -> pa.ChunkedArray | pa.Array:
    """Return an Arrow column as the field's; what Arrow cannot cast is taken value by value.

    So a table says of a value what a row says of it. BadRowError where one does not fit.
    """
    if kind := vectors_in(pa.schema([field])).get(field.name):
        return _packed(column, field, kind)
    if not is_same_kind(column.type, field.type):
        return array_of(_values(column), field, lenient=lenient)
    try:
        return cast(column, field.type)
    except WRONG as error:
        at = _first_misfit(column, field.type)
        raise _wrong(at, field, column[at].as_py(), error) from error


def _values(column: pa.ChunkedArray) -> list[Any]:
    try:
        return list(column.to_pylist())
    except WRONG:  # nanoseconds have no equal in Python
        return [str(value) for value in column]


def _first_misfit(column: pa.ChunkedArray, kind: pa.DataType) -> int:
    """Return the first row that cannot be cast, by halves."""
    low, high = 0, len(column)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            cast(column.slice(low, middle - low), kind)
            low = middle
        except WRONG:
            high = middle
    return low


def _cell(kind: pa.DataType, lenient: bool) -> Cell:
    """Return the function that takes a Python value for a column of that type, or raises."""
    if types.is_boolean(kind):
        return _exactly(bool)
    if types.is_integer(kind):
        return _whole if lenient else _integer
    if types.is_floating(kind):
        return _real
    if types.is_decimal(kind):
        return _decimal
    if types.is_timestamp(kind):
        return _aware if kind.tz else _naive
    if types.is_date(kind):
        return _date
    if is_text(kind):
        return _exactly(str)
    if is_bytes(kind):
        return _exactly(bytes, bytearray, memoryview)
    return _nested_cell(kind, lenient)


def _nested_cell(kind: pa.DataType, lenient: bool) -> Cell:
    if is_list(kind):
        item = _or_none(_cell(kind.value_type, lenient))
        return lambda value: [item(one) for one in _exactly(list, tuple)(value)]
    if types.is_map(kind):
        key, item = _cell(kind.key_type, lenient), _or_none(_cell(kind.item_type, lenient))
        return lambda value: [(key(k), item(v)) for k, v in _exactly(dict)(value).items()]
    if types.is_struct(kind):
        cells = {field.name: _or_none(_cell(field.type, lenient)) for field in kind}
        return lambda value: {k: cells[k](v) for k, v in _known(value, cells).items()}
    return lambda value: value


def _or_none(cell: Cell) -> Cell:
    return lambda value: None if value is None else cell(value)


def _known(value: Any, cells: Mapping[str, Cell]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("it is not a mapping")
    if strange := [key for key in value if key not in cells]:
        raise ValueError(f"it has no field {strange[0]}")
    return value


def _exactly(*kinds: type) -> Cell:
    def cell(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise TypeError(f"it is {type(value).__name__}")
        return value

    return cell


def _integer(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError("it is bool")
    return operator.index(value)


def _whole(value: Any) -> int:
    if isinstance(value, float | np.floating | Decimal) and value % 1 == 0:
        return int(value)
    return _integer(value)


def _real(value: Any) -> float:
    if isinstance(value, bool | str | bytes):
        raise TypeError(f"it is {type(value).__name__}")
    return float(value)


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool | float):
        raise TypeError("a decimal comes as Decimal, int or text, since a float is not exact")
    return Decimal(value)


def _aware(value: Any) -> datetime:
    at = _moment(value)
    return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)


def _naive(value: Any) -> datetime:
    at = _moment(value)
    if at.tzinfo:
        raise ValueError("it has a time zone and the column has none")
    return at


def _moment(value: Any) -> datetime:
    if isinstance(value, str):
        return datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        raise TypeError("a timestamp comes as datetime or ISO text")
    return value


def _date(value: Any) -> date:
    if isinstance(value, str):
        return date.fromisoformat(value)
    if not isinstance(value, date) or isinstance(value, datetime):
        raise TypeError("a date comes as date or ISO text")
    return value
