"""Whole items to branches: in turn, or by the hash of a column (GSDM-32)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import TypeMismatchError
from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.results import same
from penstock.functions.data.vectors import one_chunk
from penstock.functions.operators.function import Function, Parameter, Role

MIX = np.uint64(0x9E3779B97F4A7C15)
ODD = np.uint64(0x100000001B3)

Hashes = npt.NDArray[np.uint64]


def _in_turn(
    _items: Items, n: int, i: int, *, position: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    return np.equal(position % n, i)


def _by_hash(items: Items, n: int, i: int, *, column: str) -> npt.NDArray[np.bool_]:
    mine: npt.NDArray[np.bool_] = hashed(items, column) % np.uint64(n) == np.uint64(i)
    return mine


def _has_column(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    kind = given.field(parameters["column"]).type
    if pa.types.is_nested(kind) or pa.types.is_decimal(kind):
        raise TypeMismatchError(
            f"{parameters['column']} is {given[parameters['column']].type}, which has no hash here",
            hint="split by a number, a time, a text or bytes",
        )
    return given


def hashed(items: Items, column: str) -> Hashes:
    """Return a hash of each value of a column; it is the same in every process, NULL's is 0."""
    values = one_chunk(items.table[items.type[column].name])
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        found = _of_bytes(values.cast(pa.large_binary()))
    elif pa.types.is_floating(kind):
        numbers = pc.fill_null(values.cast(pa.float64()), 0).to_numpy(zero_copy_only=False)
        found = mixed((numbers + 0.0).view(np.int64))  # a negative zero is zero
    else:
        wide = values.cast(pa.int32()) if pa.types.is_date32(kind) else values
        found = mixed(pc.fill_null(wide.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))
    return np.where(values.is_valid().to_numpy(zero_copy_only=False), found, np.uint64(0))


def _of_bytes(values: pa.Array) -> Hashes:
    """Return a polynomial of each value's bytes, worked out over all of them at once."""
    ends = np.frombuffer(values.buffers()[1], dtype=np.int64)
    ends = ends[values.offset : values.offset + len(values) + 1]
    lengths = np.diff(ends)
    letters = np.frombuffer(values.buffers()[2] or b"", dtype=np.uint8)[ends[0] : ends[-1]]
    places = np.arange(len(letters)) - np.repeat(ends[:-1] - ends[0], lengths)
    with np.errstate(over="ignore"):
        powers = np.cumprod(np.full(int(lengths.max(initial=0)) + 1, ODD, dtype=np.uint64))
        terms = (letters.astype(np.uint64) + np.uint64(1)) * powers[places]
        sums = np.concatenate(([np.uint64(0)], np.cumsum(terms, dtype=np.uint64)))
        return mixed(sums[ends[1:] - ends[0]] - sums[ends[:-1] - ends[0]])


def mixed(numbers: npt.NDArray[Any], seed: int = 0) -> Hashes:
    """Return whole numbers scattered over 64 bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + (np.uint64(seed % 2**64) + np.uint64(1)) * MIX
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


rr_part = Function("rr_part", Role.PARTITION, _in_turn, same, counted=True)
hash_part = Function(
    "hash_part", Role.PARTITION, _by_hash, _has_column, parameters=(Parameter("column", str),)
)
