"""The Fourier transform of all vectors of an item, whole and in parts (GSDM-18, GSDM-34).

With W = exp(−2πi/N), S_p the transform of part p of K, which has the elements p, p + K, p + 2K …:

    X[k + q·N/K] = Σ_p W^(p·(k + q·N/K)) · S_p[k]

in log2 K stages where K is a power of two: each puts even and odd parts together, by one
multiplication and one addition for each element of the result. Other K take one transform of
length K over the parts.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.errors import BadRowError, TypeMismatchError
from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.results import complex_vectors, with_vectors
from penstock.functions.data.vectors import Array, together
from penstock.functions.operators.function import Function, Role, Split


def fourier(vectors: Array) -> Array:
    """Return the discrete Fourier transform of each row; of no elements, no elements."""
    return np.fft.fft(vectors, axis=-1) if vectors.shape[-1] else vectors


def every_kth(vectors: Array, k: int, p: int) -> Array:
    """Return the elements p, p + k, p + 2k … of each row."""
    if vectors.shape[-1] % k:
        raise BadRowError(
            f"a vector of {vectors.shape[-1]} elements cannot be split in {k}",
            hint="a vector's length has to be a multiple of the number of branches",
        )
    return vectors[:, p::k]


def combined(parts: Sequence[Array]) -> Array:
    """Return the transform of whole vectors from those of their parts, all (n, M)."""
    count = len(parts)
    if count & (count - 1):
        return _by_transform(parts)
    while len(parts) > 1:
        half = len(parts) // 2
        parts = [_stage(parts[p], parts[p + half]) for p in range(half)]
    return parts[0]


def _stage(even: Array, odd: Array) -> Array:
    rows, length = even.shape
    turned = odd * twiddles(2 * length, length, even.dtype.str)
    out = np.empty((rows, 2 * length), dtype=even.dtype)
    np.add(even, turned, out=out[:, :length])
    np.subtract(even, turned, out=out[:, length:])
    return out


def _by_transform(parts: Sequence[Array]) -> Array:
    count, (rows, length) = len(parts), parts[0].shape
    stacked = np.stack(parts, axis=1)
    dispatcher = np.arange(count)[:, None] * np.arange(length)[None, :]
    stacked *= np.exp(-2j * np.pi * dispatcher / (count * length)).astype(stacked.dtype)
    return np.fft.fft(stacked, axis=1).reshape(rows, count * length)


@lru_cache(maxsize=64)
def twiddles(size: int, count: int, dtype: str) -> Array:
    """Return W^0 … W^(count − 1) for vectors of `size` elements."""
    made: Array = np.exp(-2j * np.pi * np.arange(count) / size).astype(dtype)
    made.flags.writeable = False
    return made


def _whole(items: Items) -> Items:
    kind = complex_vectors(items.type, {})
    return items.with_columns(
        kind,
        {name: items.vectors(name).map(fourier, kind.vectors[name]) for name in kind.vectors},
    )


def _part(items: Items, n: int, i: int) -> Items:
    made = {
        name: items.vectors(name).map(lambda rows: every_kth(rows, n, i))
        for name in items.type.vectors
    }
    return items.with_columns(items.type, made)


def _combine(parts: Sequence[Items]) -> Items:
    first = parts[0]
    kinds = first.type.vectors
    made = {
        name: together([each.vectors(name) for each in parts], _evenly, kinds[name])
        for name in kinds
    }
    return first.with_columns(first.type, made)


def _evenly(parts: Sequence[Array]) -> Array:
    if any(each.shape != parts[0].shape for each in parts):
        raise BadRowError("the parts of a vector differ in length", hint="split it evenly")
    return combined(parts)


def _spectra(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    real = [name for name, kind in given.vectors.items() if not kind.is_complex]
    if real:
        raise TypeMismatchError(
            f"fft3_combine takes spectra, and {', '.join(real)} of {given.name} is real",
            hint="put fft3 between fft3_part and fft3_combine",
        )
    return with_vectors(given, parameters)


fft3_part = Function("fft3_part", Role.PARTITION, _part, with_vectors)
fft3_combine = Function("fft3_combine", Role.COMBINE, _combine, _spectra)
fft3 = Function(
    "fft3",
    Role.TRANSFORM,
    _whole,
    complex_vectors,
    split=Split(fft3_part, fft3_combine, "powers of two"),
)
