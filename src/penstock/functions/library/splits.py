"""More functions that can be computed in parts: sort, convolution, matrix product (GSDM-31).

sort      blocks of a vector; combined by merging what is sorted already
convolve  blocks of a vector; combined by overlap and add
matmul    blocks of the rows of the first matrix; combined by putting blocks one after another
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.errors import BadRowError, TypeMismatchError
from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.results import vector_column, with_vectors
from penstock.functions.data.vectors import Array, kind_of_dtype, together
from penstock.functions.operators.function import Function, Parameter, Role, Split
from penstock.model.schema import Column

SHORT = 32  # taps up to which shifting and adding is cheaper than three transforms


def block(length: int, n: int, i: int) -> slice:
    """Return block i of n of some elements: blocks differ by one element at most."""
    return slice(length * i // n, length * (i + 1) // n)


def _blocks(items: Items, n: int, i: int) -> Items:
    made = {
        name: items.vectors(name).map(lambda rows: rows[:, block(rows.shape[1], n, i)])
        for name in items.type.vectors
    }
    return items.with_columns(items.type, made)


def _put(parts: Sequence[Items], combine: Any) -> Items:
    first = parts[0]
    made = {
        name: together([each.vectors(name) for each in parts], combine, kind)
        for name, kind in first.type.vectors.items()
    }
    return first.with_columns(first.type, made)


def _real(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    with_vectors(given, parameters)
    complex_ones = [name for name, kind in given.vectors.items() if kind.is_complex]
    if complex_ones:
        raise TypeMismatchError(
            f"complex numbers have no order: {', '.join(complex_ones)} of {given.name}",
            hint="put magnitude before it",
        )
    return given


def _sorted(items: Items) -> Items:
    made = {
        name: items.vectors(name).map(lambda rows: np.sort(rows, axis=1))
        for name in items.type.vectors
    }
    return items.with_columns(items.type, made)


def _merged(parts: Sequence[Items]) -> Items:
    def merge(rows: Sequence[Array]) -> Array:
        return np.sort(np.concatenate(rows, axis=1), axis=1, kind="stable")

    return _put(parts, merge)


def convolved(rows: Array, kernel: Array) -> Array:
    """Return the full convolution of each row; of no elements, no elements."""
    length, taps = rows.shape[1], len(kernel)
    if not length:
        return rows
    size = length + taps - 1
    if taps > SHORT:
        fit = 1 << (size - 1).bit_length()
        turned = np.fft.fft(rows, fit, axis=1) * np.fft.fft(kernel, fit)
        made = np.fft.ifft(turned, axis=1)[:, :size]
        return made if rows.dtype.kind == "c" else made.real
    out = np.zeros((len(rows), size), dtype=rows.dtype)
    for place, weight in enumerate(kernel.tolist()):
        out[:, place : place + length] += rows.dtype.type(weight) * rows
    return out


def _convolve(items: Items, *, kernel: tuple[float, ...]) -> Items:
    weights = np.array(kernel, dtype=np.float64)
    made = {
        name: items.vectors(name).map(lambda rows: convolved(rows, weights))
        for name in items.type.vectors
    }
    return items.with_columns(items.type, made)


def _overlap_add(parts: Sequence[Items], *, kernel: tuple[float, ...]) -> Items:
    overlap = len(kernel) - 1

    def add(rows: Sequence[Array]) -> Array:
        own = [max(0, each.shape[1] - overlap) for each in rows]
        if not sum(own):
            return rows[0]
        out = np.zeros((len(rows[0]), sum(own) + overlap), dtype=rows[0].dtype)
        place = 0
        for each, length in zip(rows, own, strict=True):
            out[:, place : place + each.shape[1]] += each
            place += length
        return out

    return _put(parts, add)


def _has_kernel(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    kernel = parameters["kernel"]
    if not kernel or not all(isinstance(each, (int, float)) for each in kernel):
        raise TypeMismatchError(f"{kernel!r} is no kernel", hint="such as (0.25, 0.5, 0.25)")
    return with_vectors(given, parameters)


def _product_type(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    _matrices(given, parameters)
    kinds = [given.vectors[given[name].name].dtype for name in ("a", "b")]
    columns = [given[given.ordering]] if given.ordering else []
    wide = kind_of_dtype(np.result_type(*kinds))
    return given.with_columns("product", (*columns, Column("c", wide.value)))


def _matrices(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    for name in ("a", "b"):
        vector_column(given, name)
    if parameters["inner"] < 1:
        raise TypeMismatchError("matrices need an inner dimension", hint="a whole number from 1 on")
    return given


def _rows_of(rows: Array, inner: int) -> int:
    if rows.shape[1] % inner:
        raise BadRowError(
            f"{rows.shape[1]} elements are no matrix with a side of {inner}",
            hint="a has rows of `inner` elements, b has `inner` rows",
        )
    return int(rows.shape[1]) // inner


def _product(items: Items, *, inner: int) -> Items:
    kind = _product_type(items.type, {"inner": inner})

    def multiply(rows: Sequence[Array]) -> Array:
        a, b = rows
        left = a.reshape(len(a), _rows_of(a, inner), inner)
        right = b.reshape(len(b), inner, _rows_of(b, inner))
        return (left @ right).reshape(len(a), -1)

    made = together([items.vectors("a"), items.vectors("b")], multiply, kind.vectors["c"])
    return items.with_columns(kind, {"c": made})


def _row_blocks(items: Items, n: int, i: int, *, inner: int) -> Items:
    def cut(rows: Array) -> Array:
        some = block(_rows_of(rows, inner), n, i)
        return rows[:, some.start * inner : some.stop * inner]

    return items.with_columns(items.type, {"a": items.vectors("a").map(cut)})


def _one_after_another(parts: Sequence[Items]) -> Items:
    return _put(parts, lambda rows: np.concatenate(rows, axis=1))


KERNEL = (Parameter("kernel", tuple),)
INNER = (Parameter("inner", int),)

block_part = Function("block_part", Role.PARTITION, _blocks, with_vectors)
concat_combine = Function("concat_combine", Role.COMBINE, _one_after_another, with_vectors)
sort_combine = Function("sort_combine", Role.COMBINE, _merged, _real)
overlap_add = Function("overlap_add", Role.COMBINE, _overlap_add, _has_kernel, parameters=KERNEL)
matmul_part = Function("matmul_part", Role.PARTITION, _row_blocks, _matrices, parameters=INNER)

sort = Function("sort", Role.TRANSFORM, _sorted, _real, split=Split(block_part, sort_combine))
convolve = Function(
    "convolve",
    Role.TRANSFORM,
    _convolve,
    _has_kernel,
    parameters=KERNEL,
    split=Split(block_part, overlap_add),
)
matmul = Function(
    "matmul",
    Role.TRANSFORM,
    _product,
    _product_type,
    parameters=INNER,
    split=Split(matmul_part, concat_combine),
)
