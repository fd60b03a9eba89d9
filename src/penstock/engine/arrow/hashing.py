"""Spark's xxhash64 of whole numbers: XXH64 (Collet, xxHash) of eight bytes each, one by one.

The hash of one number is the seed of the next.
"""

from typing import Any

import numpy as np
import pyarrow as pa

SEED = 42
FIRST = np.uint64(0x9E3779B185EBCA87)
SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
THIRD = np.uint64(0x165667B19E3779F9)
FOURTH = np.uint64(0x85EBCA77C2B2AE63)
FIFTH = np.uint64(0x27D4EB2F165667C5)
LENGTH = np.uint64(8)
Words = np.ndarray[Any, np.dtype[np.uint64]]


def xxhash64(*values: Any) -> pa.Array:
    """Return the hash of each row; a NULL changes nothing."""
    count = max((len(each) for each in values if isinstance(each, pa.Array)), default=1)
    found = np.full(count, SEED, dtype=np.uint64)
    for each in values:
        column = pa.repeat(each, count) if isinstance(each, pa.Scalar) else each
        words = column.fill_null(0).to_numpy().view(np.uint64)
        known = column.is_valid().to_numpy(zero_copy_only=False)
        found = np.where(known, _hashed(words, found), found)
    return pa.array(found.view(np.int64))


def _hashed(words: Words, seeds: Words) -> Words:
    with np.errstate(over="ignore"):
        found = seeds + FIFTH + LENGTH
        found ^= _turned(words * SECOND, 31) * FIRST
        found = _turned(found, 27) * FIRST + FOURTH
        found = (found ^ (found >> np.uint64(33))) * SECOND
        found = (found ^ (found >> np.uint64(29))) * THIRD
        return found ^ (found >> np.uint64(32))


def _turned(words: Words, by: int) -> Words:
    return (words << np.uint64(by)) | (words >> np.uint64(64 - by))
