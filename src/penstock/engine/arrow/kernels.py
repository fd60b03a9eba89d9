"""Kernels: the functions of `plan/arrow/values.py` over Arrow's arrays and scalars.

Each gives what Spark gives, or raises: `UnlikeSparkError`, or an error of Arrow's own, where Spark
would raise or round in another way. Whoever asked then asks Spark, so an error is never an answer.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.arrow.hashing import xxhash64

Datum = Any  # pa.Array or pa.Scalar: Arrow's functions take either
Kernel = Callable[..., Datum]
Doubles = np.ndarray[Any, np.dtype[np.float64]]
Bits = np.ndarray[Any, np.dtype[np.bool_]]
MOMENTS = pa.timestamp("us", "UTC")
TYPES: Mapping[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "timestamp": MOMENTS,
}
FEW_DIGITS = 1024.0  # a fraction of 2 to the -10 has ten digits, and Java shows them all
HALF = 0.5
SIX_BITS = 63
EXACT = 2.0**52  # above it every double is a whole number
NEAR = 1e-9  # of a number: so near to a half, digits that a double does not have would decide


class UnlikeSparkError(Exception):
    """For these rows Arrow would not answer as Spark does."""


def _any(mask: Datum) -> bool:
    """Say whether it holds for some row."""
    return bool(mask.as_py() if isinstance(mask, pa.Scalar) else pc.any(mask).as_py())


def _refuse(mask: Datum) -> None:
    if _any(mask):
        raise UnlikeSparkError


def _has_nan(*values: Datum) -> bool:
    return any(pa.types.is_floating(each.type) and _any(pc.is_nan(each)) for each in values)


def _less(left: Datum, right: Datum) -> Datum:
    """Compare doubles some of which are NaN, which is Spark's greatest and equal to itself."""
    found = pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right))
    return pc.or_(pc.less(left, right), found)


def _equal(left: Datum, right: Datum) -> Datum:
    if not _has_nan(left, right):
        return pc.equal(left, right)
    return pc.or_(pc.equal(left, right), pc.and_(pc.is_nan(left), pc.is_nan(right)))


def _is_less(left: Datum, right: Datum) -> Datum:
    return _less(left, right) if _has_nan(left, right) else pc.less(left, right)


def _same(left: Datum, right: Datum) -> Datum:
    """Compare so that NULL is equal to NULL, and to nothing else."""
    found = pc.if_else(pc.is_null(_equal(left, right)), False, _equal(left, right))
    return pc.or_(found, pc.and_(pc.is_null(left), pc.is_null(right)))


def _divide(left: Datum, right: Datum) -> Datum:
    _refuse(pc.equal(right, 0.0))
    return pc.divide(left, right)


def _remainder(left: Datum, right: Datum) -> Datum:
    _refuse(pc.less_equal(right, 0))
    return pc.subtract(left, pc.multiply(pc.divide(left, right), right))


def _positive_remainder(left: Datum, right: Datum) -> Datum:
    found = _remainder(left, right)
    return pc.if_else(pc.less(found, 0), pc.add(found, right), found)


def _greatest(*values: Datum) -> Datum:
    _refuse_unordered(*values)
    return pc.max_element_wise(*values, skip_nulls=True)


def _least(*values: Datum) -> Datum:
    _refuse_unordered(*values)
    return pc.min_element_wise(*values, skip_nulls=True)


def _refuse_unordered(*values: Datum) -> None:
    """Refuse NaN and zeros of two signs, of which each has an order of its own."""
    for each in values:
        if pa.types.is_floating(each.type):
            _refuse(pc.or_(pc.is_nan(each), pc.equal(each, 0.0)))


def _round(value: Datum, digits: Datum) -> Datum:
    """Round halves away from zero, as decimals: what Spark makes of the digits that it shows.

    A double close to a half is left to Spark, unless it is a half in binary, too.
    """
    if isinstance(value, pa.Scalar):
        raise UnlikeSparkError
    known, power = value.is_valid().to_numpy(zero_copy_only=False), 10.0 ** digits.as_py()
    numbers = pc.fill_null(value, 0.0).to_numpy()
    size = np.abs(numbers)
    if not np.all(size < EXACT / power):
        raise UnlikeSparkError
    scaled = size * power
    whole = np.floor(scaled)
    rest = scaled - whole
    doubtful = (np.abs(rest - HALF) < NEAR * np.maximum(scaled, 1.0)) & ~_is_half(size, power)
    if np.any(doubtful):
        raise UnlikeSparkError
    rounded = np.copysign((whole + (rest >= HALF)) / power, numbers)
    return pa.array(rounded + 0.0, mask=~known)


def _is_half(size: Doubles, power: float) -> Bits:
    """Say of which numbers all digits are few and exact, so that no rounding led to the half."""
    fine = size * FEW_DIGITS
    found: Bits = (fine == np.floor(fine)) & (fine < EXACT / power)
    return found


def _truncate(value: Datum, type_: pa.DataType) -> Datum:
    return pc.cast(pc.trunc(value), type_)  # what is out of range, or NaN, is Arrow's error


def _whole_cast(value: Datum, type_: pa.DataType) -> Datum:
    if pa.types.is_floating(type_):
        return pc.cast(value, type_, safe=False)  # rounds as Java does
    return pc.cast(value, type_)


def _get(array: Datum, place: Datum) -> Datum:
    """Return the value at a place from 0 on; NULL outside of the array."""
    if isinstance(place, pa.Scalar):
        raise UnlikeSparkError
    outside = pc.or_(pc.less(place, 0), pc.greater_equal(place, len(array)))
    return pc.take(array, pc.if_else(outside, None, place))


def _element_at(array: Datum, place: Datum) -> Datum:
    """Return the value at a place from 1 on, which must be one."""
    if isinstance(place, pa.Scalar):
        raise UnlikeSparkError
    _refuse(pc.or_(pc.less(place, 1), pc.greater(place, len(array))))
    return pc.take(array, pc.subtract(place, 1))


def _count_less(array: Datum, value: Datum) -> Datum:
    """Return how many of the ascending values of an array are less; none are less than NULL."""
    if isinstance(value, pa.Scalar):
        raise UnlikeSparkError
    known = value.is_valid().to_numpy(zero_copy_only=False)
    words = value.dictionary_encode() if pa.types.is_string(value.type) else None
    if words is None:
        fill = pa.scalar(0, value.type)
        found = np.searchsorted(array.to_numpy(), pc.fill_null(value, fill).to_numpy())
    else:
        texts = np.array(words.dictionary.to_pylist(), dtype=object)
        places = np.searchsorted(np.array(array.to_pylist(), dtype=object), texts)
        indices = pc.fill_null(words.indices, 0).to_numpy()
        found = places[indices] if len(places) else np.zeros(len(known), dtype=np.int64)
    return pa.array(np.where(known, found, 0), pa.int32())


def _shifted(value: Datum, by: Datum) -> Datum:
    """Shift to the right, zeros from the left; Java takes the last six bits of how far."""
    bits = by if isinstance(by, pa.Scalar) else None
    if bits is None or isinstance(value, pa.Scalar):
        raise UnlikeSparkError
    unsigned = pc.cast(value, pa.uint64(), safe=False)
    shifted = pc.shift_right(unsigned, pa.scalar(bits.as_py() & SIX_BITS, pa.uint64()))
    return pc.cast(shifted, pa.int64(), safe=False)


def _array(*values: Datum) -> Datum:
    return pa.array([each.as_py() for each in values], values[0].type)


def _substring(text: Datum, first: Datum, count: Datum) -> Datum:
    """Return so many characters from a place on, which is 1 at the begin."""
    start, most = first.as_py() - 1, max(0, count.as_py())
    return pc.utf8_slice_codeunits(text, start, start + most)


KERNELS: Mapping[str, Kernel] = {
    "add": pc.add_checked,
    "subtract": pc.subtract_checked,
    "multiply": pc.multiply_checked,
    "divide": _divide,
    "div": pc.divide_checked,
    "mod": _remainder,
    "pmod": _positive_remainder,
    "bit_and": pc.bit_wise_and,
    "negate": pc.negate_checked,
    "abs": pc.abs_checked,
    "equal": _equal,
    "not_equal": lambda left, right: pc.invert(_equal(left, right)),
    "less": _is_less,
    "less_equal": lambda left, right: pc.invert(_is_less(right, left)),
    "greater": lambda left, right: _is_less(right, left),
    "greater_equal": lambda left, right: pc.invert(_is_less(left, right)),
    "same": _same,
    "and": pc.and_kleene,
    "or": pc.or_kleene,
    "not": pc.invert,
    "is_null": pc.is_null,
    "if": lambda when, one, other: pc.if_else(pc.fill_null(when, False), one, other),
    "coalesce": pc.coalesce,
    "greatest": _greatest,
    "least": _least,
    "round": _round,
    "floor": lambda value: pc.cast(pc.floor(value), pa.int64()),
    "ceil": lambda value: pc.cast(pc.ceil(value), pa.int64()),
    "length": lambda value: pc.cast(pc.utf8_length(value), pa.int32()),
    "text": lambda value: pc.cast(value, pa.string()),
    "substring": _substring,
    "concat": lambda *values: pc.binary_join_element_wise(*values, ""),
    "unix_micros": lambda value: pc.cast(value, pa.int64()),
    "timestamp_micros": lambda value: pc.cast(value, MOMENTS),
    "get": _get,
    "element_at": _element_at,
    "shiftrightunsigned": _shifted,
    "xxhash64": xxhash64,
    "count_less": _count_less,
    "array": _array,
}
TYPED: Mapping[str, Kernel] = {"cast": _whole_cast, "truncate": _truncate}
