"""Readings from rows of a table, and cells as rows."""

import numpy as np
import pyarrow as pa

from penstock.grid.space.cells import TOLD, Cells, Floats, Ints
from penstock.grid.space.perspectives import Readings, corners, micros
from penstock.model.grids import Topology

CELLS = pa.schema(
    [
        ("time", pa.timestamp("us", "UTC")),
        ("lat", pa.float64()),
        ("lon", pa.float64()),
        ("value", pa.float64()),
        ("reason", pa.string()),
    ]
)


def readings_in(table: pa.Table) -> Readings:
    """Return the readings of rows of time (not NULL), latitude, longitude and value."""
    time, lat, lon, value = (column.combine_chunks() for column in table.columns)
    return _ints(time), _floats(lat), _floats(lon), _floats(value)


def as_rows(cells: Cells, topology: Topology) -> pa.Table:
    """Return cells by their lower-left corners; `reason` says why a value is NULL.

    Of scattered cells the time is that of their first block.
    """
    told = pa.array([TOLD[reason] for reason in TOLD], pa.string())
    columns = [
        pa.array(micros(topology.time, cells.time)).cast(CELLS.field("time").type),
        pa.array(corners(topology.lat, cells.lat)),
        pa.array(corners(topology.lon, cells.lon)),
        pa.array(cells.value, mask=np.isnan(cells.value)),
        told.take(pa.array(cells.reason)),
    ]
    return pa.Table.from_arrays(columns, schema=CELLS)


def _ints(column: pa.Array) -> Ints:
    whole = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    numbers: Ints = whole.to_numpy(zero_copy_only=False)
    return numbers


def _floats(column: pa.Array) -> Floats:
    numbers: Floats = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers
