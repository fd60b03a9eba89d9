"""Numbers for the values of key columns.

Keys of the same types share one space, whatever their columns are called: that is how the rows of
different events come to agree. A row with NULL in its key agrees with none.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.events.occurrences.batch import Ints

NO_KEY = -1
NAN = float("nan")  # one object, so that NaN agrees with NaN as in Spark SQL


@dataclass
class KeySpace:
    """Numbers of keys in the order in which they were first seen.

    Numbers that a failed step has given stay given; nothing refers to them.
    """

    types: tuple[pa.DataType, ...]
    known: dict[Any, int] = field(default_factory=dict)

    def numbers(self, columns: list[pa.ChunkedArray]) -> Ints:
        """Return each row's key number, or `NO_KEY` where a column is NULL."""
        codes, values = _encoded(columns)
        given = np.empty(len(values), np.int64)
        known = self.known
        for place, value in enumerate(values):
            number = known.get(value)
            if number is None:
                number = known[value] = len(known)
            given[place] = number
        return np.where(codes >= 0, given[codes], NO_KEY) if len(given) else codes

    def values(self, numbers: Ints) -> list[pa.Array]:
        """Return the key columns of some keys."""
        every = list(self.known)
        chosen = [every[number] for number in numbers.tolist()]
        if len(self.types) == 1:
            return [pa.array(chosen, self.types[0])]
        return [
            pa.array([value[place] for value in chosen], each)
            for place, each in enumerate(self.types)
        ]


def _encoded(columns: list[pa.ChunkedArray]) -> tuple[Ints, list[Any]]:
    """Return each row's place among the distinct keys, below zero for NULL, and those keys."""
    parts = [_one_encoded(column) for column in columns]
    if len(parts) == 1:
        return parts[0]
    whole = np.zeros(len(parts[0][0]), np.int64)
    null = np.zeros(len(whole), np.bool_)
    for codes, values in parts:
        whole = whole * (len(values) + 1) + codes
        null |= codes < 0
        _, whole = np.unique(whole, return_inverse=True)
    distinct, first, codes = np.unique(
        np.where(null, -1, whole), return_index=True, return_inverse=True
    )
    absent = int(len(distinct) > 0 and distinct[0] < 0)
    rows = first[absent:].tolist()
    found: list[Any] = [tuple(values[codes_[row]] for codes_, values in parts) for row in rows]
    return codes - absent, found


def _one_encoded(column: pa.ChunkedArray) -> tuple[Ints, list[Any]]:
    encoded = pc.dictionary_encode(column.combine_chunks())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    codes = pc.fill_null(encoded.indices, NO_KEY).to_numpy(zero_copy_only=False)
    values = [NAN if value != value else value for value in encoded.dictionary.to_pylist()]  # noqa: PLR0124 - only NaN differs from itself
    return codes.astype(np.int64), values
