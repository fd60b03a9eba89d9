"""Whole items to branches: in turn, or by the hash of a column (GSDM-32)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from penstock.functions.function import Function, Parameter, Role
from penstock.functions.items import Items
from penstock.functions.results import same
from penstock.functions.types import StreamType
from penstock.functions.vectors import one_chunk

MIX = np.uint64(0x9E3779B97F4A7C15)


def _in_turn(
    _items: Items, n: int, i: int, *, position: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    return np.equal(position % n, i)


def _by_hash(items: Items, n: int, i: int, *, column: str) -> npt.NDArray[np.bool_]:
    mine: npt.NDArray[np.bool_] = hashed(items, column) % np.uint64(n) == np.uint64(i)
    return mine


def _has_column(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    _ = given[parameters["column"]]
    return given


def hashed(items: Items, column: str) -> npt.NDArray[np.uint64]:
    """Return a hash of each value of a column; it is the same in every process."""
    values = one_chunk(items.table[items.type[column].name])
    codes = pc.dictionary_encode(values, null_encoding="encode")
    distinct = [_text_hash(str(each)) for each in codes.dictionary.to_pylist()]
    places: npt.NDArray[np.int32] = codes.indices.to_numpy(zero_copy_only=False)
    return np.array(distinct, dtype=np.uint64)[places]


def mixed(numbers: npt.NDArray[Any], seed: int = 0) -> npt.NDArray[np.uint64]:
    """Return whole numbers scattered over 64 bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        z = numbers.astype(np.uint64) + (np.uint64(seed % 2**64) + np.uint64(1)) * MIX
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _text_hash(text: str) -> int:
    hashed_text = 0xCBF29CE484222325  # FNV-1a
    for byte in text.encode():
        hashed_text = (hashed_text ^ byte) * 0x100000001B3 % 2**64
    return int(mixed(np.array([hashed_text], dtype=np.uint64))[0])


rr_part = Function("rr_part", Role.PARTITION, _in_turn, same, counted=True)
hash_part = Function(
    "hash_part", Role.PARTITION, _by_hash, _has_column, parameters=(Parameter("column", str),)
)
