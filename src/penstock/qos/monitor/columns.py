"""Columns: Arrow's values as whole numbers, equal ones equal, for sketches and measures."""

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

MICROSECONDS = 1_000_000


def codes_of(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return a number for each value that is not null; numbers and times keep their order."""
    column = column.drop_null()
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _numpy(column.cast(pa.int64()))
    if pa.types.is_temporal(kind):
        return _numpy(column.cast(pa.timestamp("us", getattr(kind, "tz", None))).cast(pa.int64()))
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    hashed = pd.util.hash_array(encoded.dictionary.to_numpy(zero_copy_only=False))
    found: npt.NDArray[np.int64] = hashed.view(np.int64)[encoded.indices.to_numpy()]
    return found


def seconds_of(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Return a column of times as seconds since 1970, nulls left out."""
    return codes_of(column).astype(np.float64) / MICROSECONDS


def _numpy(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = column.to_numpy()
    return found
