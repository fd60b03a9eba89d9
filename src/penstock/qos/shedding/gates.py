"""Random drop gates (ANA-14): which tuples stay is a function of a seed and a tuple's number.

Nothing is drawn: a tuple's hash is compared with a cut, so that a replay drops the same tuples, in
whatever trains and tasks they come. The hash is Spark's xxhash64 over BIGINTs, so that a gate is a
filter in a unit, and the same in numpy, for deciders and tests. A higher keep rate under the same
seed keeps what a lower one kept; gates of different seeds drop independently of each other.
"""

import math
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from penstock.errors import BadOptionError

LEAST_KEEP = 0.05  # a trickle always stays: with no tuples there are no costs to learn from

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_SPAN, _LOWEST = 2**64, -(2**63)
_SPARK_SEED = 42  # that xxhash64 begins with
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(each)
    for each in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


@dataclass(frozen=True, slots=True)
class DropGate:
    """Keeps a share of the tuples that come to it; 1 keeps all."""

    keep: float
    seed: int

    def __post_init__(self) -> None:
        """Refuse gates that let nothing through, and shares that are none."""
        if not LEAST_KEEP <= self.keep <= 1:
            raise BadOptionError(f"a gate keeps from {LEAST_KEEP:g} to 1, not {self.keep}")

    @property
    def cut(self) -> int:
        """Return the highest hash that stays."""
        return _LOWEST + min(_SPAN, max(1, math.floor(self.keep * _SPAN))) - 1

    def passes(self, *numbers: Numbers) -> Mask:
        """Say which tuples stay, by the columns that number them: (train, row), or one number."""
        rows = max(len(each) for each in numbers)
        seed = np.full(rows, self.seed, dtype=np.int64)
        kept: Mask = xxhash64(seed, *numbers) <= np.int64(self.cut)
        return kept


def seed_of(seed: int, place: str) -> int:
    """Return the seed of a gate at a place, so that gates at different places are independent."""
    text = f"{seed} {place}".encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big", signed=True) >> 1


def xxhash64(*columns: Numbers) -> Numbers:
    """Return Spark's xxhash64 of some BIGINT columns, none of them null."""
    hashed = np.full(len(columns[0]), _SPARK_SEED, dtype=np.uint64)
    with np.errstate(over="ignore"):  # it is arithmetic of 64 bits
        for column in columns:
            value = column.astype(np.int64, copy=False).view(np.uint64)
            hashed = hashed + _P5 + np.uint64(8)
            hashed ^= _rotated(value * _P2, 31) * _P1
            hashed = _rotated(hashed, 27) * _P1 + _P4
            hashed = _mixed(hashed)
    return hashed.view(np.int64)


def _rotated(value: npt.NDArray[np.uint64], by: int) -> npt.NDArray[np.uint64]:
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))


def _mixed(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    value = (value ^ (value >> np.uint64(33))) * _P2
    value = (value ^ (value >> np.uint64(29))) * _P3
    return value ^ (value >> np.uint64(32))
