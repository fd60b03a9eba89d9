"""Columns of vectors: packed bytes in Arrow, views in numpy, nothing copied between them.

A vector is the bytes of its elements, one after another, in an Arrow `binary` value. A column of n
vectors of N elements each is then one block of memory, and numpy sees it as an (n, N) array.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import BadRowError, TypeMismatchError

Array = npt.NDArray[Any]

MOST_BYTES = 2**31 - 1  # what the 32-bit offsets of `binary` can reach
BLOCK_BYTES = 2**19  # measured: transforms in blocks that a cache holds are twice as fast
ELEMENT = b"penstock.vector"  # the key of a field's metadata that names its element type


class Kind(Enum):
    """What a vector is made of, by the words that SQL has for it.

    A complex number is two floats, the real part first (GSDM-34 moves eight bytes a sample). What
    becomes of doubles is made of doubles, so there is a complex kind of these, too.
    """

    FLOAT = "float vector"
    DOUBLE = "double vector"
    COMPLEX = "complex vector"
    DOUBLE_COMPLEX = "double complex vector"

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return numpy's name of an element."""
        return _DTYPES[self]

    @property
    def is_complex(self) -> bool:
        """Whether elements are pairs of a real and an imaginary part."""
        return self.dtype.kind == "c"

    @property
    def complex(self) -> "Kind":
        """Return the complex kind of the same precision."""
        return Kind.COMPLEX if self in (Kind.FLOAT, Kind.COMPLEX) else Kind.DOUBLE_COMPLEX

    @property
    def real(self) -> "Kind":
        """Return the real kind of the same precision."""
        return Kind.FLOAT if self in (Kind.FLOAT, Kind.COMPLEX) else Kind.DOUBLE


_DTYPES: dict[Kind, np.dtype[Any]] = {
    Kind.FLOAT: np.dtype("<f4"),
    Kind.DOUBLE: np.dtype("<f8"),
    Kind.COMPLEX: np.dtype("<c8"),
    Kind.DOUBLE_COMPLEX: np.dtype("<c16"),
}


@lru_cache(maxsize=1024)
def kind_of(type_text: str) -> Kind | None:
    """Return the kind of vector that a column's type names, or None for a scalar."""
    words = " ".join(type_text.lower().split())
    return next((kind for kind in Kind if kind.value == words), None)


def kind_of_dtype(dtype: np.dtype[Any]) -> Kind:
    """Return the kind whose elements numpy calls that."""
    for kind, known in _DTYPES.items():
        if known == dtype:
            return kind
    raise TypeMismatchError(
        f"there is no vector of {dtype}", hint="float32, float64, complex64 or complex128"
    )


@dataclass(frozen=True, eq=False)
class Vectors:
    """A column of vectors: all elements in one array, vector i from `offsets[i]` on."""

    kind: Kind
    values: Array
    offsets: npt.NDArray[np.int64]

    @classmethod
    def of(cls, vectors: Array | Iterable[Array], kind: Kind) -> Self:
        """Return the rows of a two-dimensional array, or several arrays, as a column."""
        if isinstance(vectors, np.ndarray) and vectors.ndim == 2:  # noqa: PLR2004
            rows, length = vectors.shape
            values = np.ascontiguousarray(vectors, dtype=kind.dtype).reshape(-1)
            return cls(kind, values, np.arange(rows + 1, dtype=np.int64) * length)
        parts = [np.asarray(each, dtype=kind.dtype).reshape(-1) for each in vectors]
        offsets = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(each) for each in parts], out=offsets[1:])
        values = np.concatenate(parts) if parts else np.empty(0, dtype=kind.dtype)
        return cls(kind, values, offsets)

    @classmethod
    def from_arrow(cls, column: pa.Array | pa.ChunkedArray, kind: Kind) -> Self:
        """Return packed bytes as a column; no NULL, and whole elements only."""
        whole, size = one_chunk(column), kind.dtype.itemsize
        _, offsets, data = whole.buffers()
        wide = pa.types.is_large_binary(whole.type)
        ends = np.frombuffer(offsets, dtype=np.int64 if wide else np.int32) if offsets else _ZERO
        ends = ends[whole.offset : whole.offset + len(whole) + 1].astype(np.int64)
        ends = ends if len(ends) else _ZERO
        places, over = np.divmod(ends - ends[0], size)
        if whole.null_count or over.any():
            raise BadRowError(
                f"a {kind.value} is NULL or ends inside of an element",
                hint=f"give it a multiple of {size} bytes",
            )
        if not places[-1]:
            return cls(kind, np.empty(0, dtype=kind.dtype), places)
        first, count = int(ends[0]), int(places[-1])
        return cls(kind, np.frombuffer(data, kind.dtype, count, first), places)

    @classmethod
    def from_lists(cls, column: pa.Array | pa.ChunkedArray, kind: Kind) -> Self:
        """Return an Arrow column of lists of numbers; complex ones as re, im, re, im, in turn."""
        whole = one_chunk(column)
        if whole.null_count or whole.flatten().null_count:
            raise BadRowError("a vector is NULL, or holds a NULL", hint="NaN can stand in a vector")
        lengths = pc.list_value_length(whole).to_numpy(zero_copy_only=False).astype(np.int64)
        numbers = whole.flatten().to_numpy(zero_copy_only=False)
        if kind.is_complex and (lengths % 2).any():
            raise BadRowError(
                "a complex vector has an odd number of values",
                hint="give the real and the imaginary part of each element, in turn",
            )
        step = 2 if kind.is_complex else 1
        values = numbers.astype(kind.real.dtype).view(kind.dtype)
        offsets = np.concatenate(([0], np.cumsum(lengths // step)))
        return cls(kind, values, offsets.astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Return how many elements each vector has."""
        return np.diff(self.offsets)

    @property
    def matrix(self) -> Array | None:
        """Return the vectors as rows of one view, or None where their lengths differ."""
        if not len(self):
            return self.values.reshape(0, 0)
        length = int(self.lengths[0])
        if (self.lengths != length).any():
            return None
        return self.values.reshape(len(self), length)

    def each(self) -> list[Array]:
        """Return a view of each vector."""
        cuts = self.offsets.tolist()
        return [self.values[a:b] for a, b in pairwise(cuts)]

    def to_arrow(self) -> pa.Array:
        """Return the column as packed bytes, without a copy of them."""
        size = self.kind.dtype.itemsize
        data = pa.py_buffer(self.values.view(np.uint8)) if len(self.values) else pa.py_buffer(b"")
        ends = self.offsets * size
        if ends[-1] > MOST_BYTES:
            buffers = [None, pa.py_buffer(ends), data]
            return pa.Array.from_buffers(pa.large_binary(), len(self), buffers)
        buffers = [None, pa.py_buffer(ends.astype(np.int32)), data]
        return pa.Array.from_buffers(pa.binary(), len(self), buffers)

    def map(self, function: Callable[[Array], Array], kind: Kind | None = None) -> "Vectors":
        """Return a function of each vector, called with many vectors of one length at once.

        The function takes an (n, N) array and returns an (n, M) array.
        """
        return together([self], lambda rows: function(rows[0]), kind or self.kind)


def together(
    parts: Sequence[Vectors], function: Callable[[Sequence[Array]], Array], kind: Kind
) -> Vectors:
    """Return a function of the vectors in the same place of several columns.

    It is called for many places whose vectors have the same lengths, with an (n, N) array for
    each column, and returns an (n, M) array.
    """
    matrices = [each.matrix for each in parts]
    if all(each is not None for each in matrices):
        return Vectors.of(in_blocks(function, [m for m in matrices if m is not None], kind), kind)
    lengths = np.stack([each.lengths for each in parts], axis=1)
    distinct, which = np.unique(lengths, axis=0, return_inverse=True)
    made: list[tuple[Array, Array]] = []
    for number, shape in enumerate(distinct.tolist()):
        where = np.flatnonzero(which.reshape(-1) == number)
        picked = [
            each.values[each.offsets[where, None] + np.arange(length)]
            for each, length in zip(parts, shape, strict=True)
        ]
        made.append((where, in_blocks(function, picked, kind)))
    return _put_together(made, len(parts[0]), kind)


def in_blocks(
    function: Callable[[Sequence[Array]], Array], columns: Sequence[Array], kind: Kind
) -> Array:
    """Return a function of the rows of some arrays, called with as many as a cache holds."""
    rows = len(columns[0])
    step = max(1, BLOCK_BYTES // max(1, sum(each[:1].nbytes for each in columns)))
    first = checked_rows(function([each[:step] for each in columns]), min(step, rows), kind)
    if rows <= step:
        return first
    out = np.empty((rows, first.shape[1]), dtype=kind.dtype)
    out[:step] = first
    for start in range(step, rows, step):
        block = [each[start : start + step] for each in columns]
        made = checked_rows(function(block), len(block[0]), kind)
        if made.shape[1] != out.shape[1]:
            raise TypeMismatchError(
                f"vectors of one length became {out.shape[1]} and {made.shape[1]} elements long",
                hint="the length of a result can depend on the length of a vector alone",
            )
        out[start : start + step] = made
    return out


_ZERO = np.zeros(1, dtype=np.int64)


def checked_rows(made: Any, rows: int, kind: Kind) -> Array:
    """Return what a function made of some vectors, or refuse another shape or type."""
    array = np.asarray(made)
    if not np.can_cast(array.dtype, kind.dtype, casting="same_kind"):
        raise TypeMismatchError(
            f"a {kind.value} was declared, and {array.dtype} came out",
            hint="declare the kind of vectors that the function returns",
        )
    if array.ndim != 2 or len(array) != rows:  # noqa: PLR2004
        raise TypeMismatchError(
            f"{rows} vectors went in, an array of shape {array.shape} came out",
            hint="return one row for each row, as a two-dimensional array",
        )
    return array


def _put_together(made: Sequence[tuple[Array, Array]], rows: int, kind: Kind) -> Vectors:
    lengths = np.zeros(rows, dtype=np.int64)
    for where, array in made:
        lengths[where] = array.shape[1]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    values = np.empty(offsets[-1], dtype=kind.dtype)
    for where, array in made:
        values[offsets[where, None] + np.arange(array.shape[1])] = array
    return Vectors(kind, values, offsets)


def one_chunk(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the column in one piece, copied only if it lies in several."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_binary(column.type) and column.nbytes > MOST_BYTES:
        column = column.cast(pa.large_binary())
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined


def misfits(column: pa.Array | pa.ChunkedArray, kind: Kind) -> npt.NDArray[np.intp]:
    """Return the places of values that are NULL or end inside of an element."""
    lengths = pc.fill_null(pc.binary_length(column), -1).to_numpy(zero_copy_only=False)
    return np.flatnonzero((lengths < 0) | (lengths % kind.dtype.itemsize != 0))
