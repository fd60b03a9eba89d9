"""Vector columns where they come in and go out: lists of numbers, numpy arrays, packed bytes."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.trains.types import arrow_schema, vectors_in
from penstock.functions.data.vectors import Kind, Vectors, misfits, one_chunk
from penstock.model.functions.vectors import MOST_BYTES, element_of
from penstock.model.schema import Column, Schema

PAIR = 2  # numbers of a complex element, the real part first
LISTS = {
    "float": "array<float>",
    "double": "array<double>",
    "complex": "array<array<float>>",
    "double complex": "array<array<double>>",
}


def as_lists(schema: Schema) -> Schema:
    """Return the schema with vectors as the arrays that text has in their place."""
    columns = ((each, element_of(each)) for each in schema)
    return Schema(tuple(Column(c.name, LISTS[e]) if e else c for c, e in columns))


def packed(column: pa.ChunkedArray, kind: Kind) -> tuple[pa.Array | pa.ChunkedArray, pa.Array]:
    """Return a column of lists or bytes as packed vectors, and which of them are none.

    NULL stays NULL. What holds a NULL, is no list of pairs where these are wanted, ends inside of
    an element or is too long is no vector: it is NULL, too. Bytes that are vectors are not copied.
    """
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        bad = np.zeros(len(column), np.bool_)
        bad[misfits(column, kind)] = True
        bad |= _too_long(column)
        if not bad.any():
            return column, pa.array(bad)
        whole = one_chunk(column)
    else:
        whole, bad = _from_lists(one_chunk(column), kind)
    wrong = pc.and_(pa.array(bad), whole.is_valid())
    return pc.if_else(wrong, pa.scalar(None, whole.type), whole), wrong


def with_packed(table: pa.Table, schema: Schema) -> tuple[pa.Table, pa.ChunkedArray]:
    """Return rows whose vectors are arrays in the schema, and which of them have one that is none.

    The columns of the table are those of `as_lists`.
    """
    target = arrow_schema(schema)
    wrong = pa.chunked_array([pa.repeat(pa.scalar(False), table.num_rows)])
    for name, kind in vectors_in(target).items():
        vectors, none = packed(table[name], kind)
        wrong = pc.or_(wrong, none)
        table = table.set_column(table.column_names.index(name), name, vectors)
    return pa.table(table.columns, schema=target), wrong


def _from_lists(whole: pa.Array, kind: Kind) -> tuple[pa.Array, Any]:
    """Return lists as packed bytes; complex elements are pairs, or two numbers each."""
    flat = whole.flatten()
    nested = pa.types.is_nested(flat.type)
    bad_elements = flat.is_null()
    if nested:
        lengths = pc.list_value_length(flat)
        short = pc.fill_null(pc.not_equal(lengths, PAIR), fill_value=True)
        holes = _any_in(flat, flat.flatten().is_null())
        bad_elements = pc.or_(short, pa.array(holes))
    lengths = pc.fill_null(pc.list_value_length(whole), 0).to_numpy(zero_copy_only=False)
    bad = _any_in(whole, bad_elements)
    if kind.is_complex and not nested:
        bad |= lengths % PAIR != 0
    usable = pa.array(~bad & np.asarray(whole.is_valid()))
    good = whole.filter(usable)
    numbers = good.flatten().flatten() if nested else good.flatten()
    step = PAIR if kind.is_complex and not nested else 1
    counts = np.where(usable, lengths // step, 0)
    values = numbers.to_numpy(zero_copy_only=False).astype(kind.real.dtype).view(kind.dtype)
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    made = Vectors(kind, values, offsets).to_arrow()
    valid = whole.is_valid()
    return pc.if_else(valid, made, pa.scalar(None, made.type)), bad | _too_long(made)


def _any_in(lists: pa.Array, flags: pa.Array) -> Any:
    """Say of each list whether one of its elements is flagged."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths)
    sums = np.concatenate(([0], np.cumsum(np.asarray(flags))))
    return sums[ends] > sums[ends - lengths]


def _too_long(packed_bytes: pa.Array | pa.ChunkedArray) -> Any:
    lengths = pc.fill_null(pc.binary_length(packed_bytes), 0)
    return np.asarray(pc.greater(lengths, MOST_BYTES))


def is_vector_like(kind: pa.DataType) -> bool:
    """Say whether values of an Arrow type may be packed vectors, or lists of numbers or pairs."""
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return True
    inner = kind.value_type if _is_list(kind) else None
    inner = inner.value_type if inner is not None and _is_list(inner) else inner
    return inner is not None and bool(pa.types.is_floating(inner) or pa.types.is_integer(inner))


def _is_list(kind: pa.DataType) -> bool:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(each(kind) for each in lists)


def as_vector(value: Any, kind: Kind) -> bytes:
    """Return one value of Python's as packed bytes; TypeError or ValueError where it is none."""
    if len(value) * (1 if isinstance(value, bytes) else kind.dtype.itemsize) > MOST_BYTES:
        raise ValueError(f"it takes more than {MOST_BYTES >> 20} MiB")
    if isinstance(value, bytes | bytearray | memoryview):
        if len(value) % kind.dtype.itemsize:
            raise ValueError(f"its {len(value)} bytes end inside of an element")
        return bytes(value)
    array = np.asarray(value)
    if (
        array.ndim == PAIR
        and array.shape[1] == PAIR
        and kind.is_complex
        and array.dtype.kind in "iuf"
    ):
        array = array[:, 0] + 1j * array[:, 1]
    if array.ndim != 1:
        raise ValueError(f"it has {array.ndim} dimensions, and a vector has one")
    if array.size and not np.can_cast(array.dtype, kind.dtype, "same_kind"):
        raise TypeError(f"its elements are {array.dtype}")
    return array.astype(kind.dtype).tobytes()


def column_of(values: Any, kind: Kind) -> pa.Array:
    """Return many vectors of Python's, such as the rows of a matrix, as packed bytes."""
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim == 2 and np.can_cast(array.dtype, kind.dtype, "same_kind"):  # noqa: PLR2004
        return Vectors.of(array, kind).to_arrow()
    return pa.array([as_vector(each, kind) for each in values], pa.binary())


def shown(table: pa.Table) -> pa.Table:
    """Return the table as people read it: vectors are lists, complex elements pairs."""
    for name, kind in vectors_in(table.schema).items():
        table = table.set_column(table.column_names.index(name), name, _lists(table[name], kind))
    return table


def _lists(column: pa.ChunkedArray, kind: Kind) -> pa.Array:
    whole = one_chunk(column)
    filled = pc.fill_null(whole, b"") if whole.null_count else whole
    vectors = Vectors.from_arrow(filled, kind)
    numbers = pa.array(vectors.values.view(kind.real.dtype))
    if kind.is_complex:
        numbers = pa.FixedSizeListArray.from_arrays(numbers, PAIR)
    lists = pa.LargeListArray.from_arrays(pa.array(vectors.offsets), numbers)
    return lists if not whole.null_count else pc.if_else(whole.is_valid(), lists, None)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows as Python's own values, vectors as numpy arrays."""
    found = vectors_in(table.schema)
    rows: list[dict[str, Any]] = table.drop_columns(list(found)).to_pylist()
    if not found:
        return rows
    arrays = {name: _arrays(table[name], kind) for name, kind in found.items()}
    names = table.column_names
    return [
        {name: arrays[name][at] if name in arrays else rows[at][name] for name in names}
        for at in range(table.num_rows)
    ]


def _arrays(column: pa.ChunkedArray, kind: Kind) -> list[Any]:
    whole = one_chunk(column)
    filled = pc.fill_null(whole, b"") if whole.null_count else whole
    views = Vectors.from_arrow(filled, kind).each()
    return [v if ok else None for v, ok in zip(views, whole.is_valid().to_pylist(), strict=True)]
