"""Cells as arrays with coordinates, and readings from such arrays: xarray's, NetCDF's, Zarr's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from penstock.errors import BadGridError
from penstock.grid.space.cells import TOLD, Cells, Floats, Ints, Reason
from penstock.grid.space.perspectives import AXES, MICROSECONDS, corners
from penstock.model.grids import Axis, Topology

MOST_CELLS = 50_000_000  # of a dense array: 450 MB with its reasons
Readings = tuple[Ints, Floats, Floats, Floats]


def micros(axis: Axis, numbers: Ints) -> Ints:
    """Return the lower corners of cells of time in microseconds, exactly."""
    step, origin = axis.step * MICROSECONDS, axis.origin * MICROSECONDS
    return (numbers * step.numerator) // step.denominator + int(origin)


def as_dataset(cells: Cells, topology: Topology, name: str) -> xr.Dataset:
    """Return cells as a dense array over those coordinates at which there are any.

    `reason` says by number why a cell is NULL; its attributes name the numbers. Of scattered cells
    the time is that within their period.
    """
    places = [np.unique(each, return_inverse=True) for each in cells.numbers]
    shape = tuple(len(numbers) for numbers, _ in places)
    if int(np.prod([float(each) for each in shape])) > MOST_CELLS:
        raise BadGridError(
            f"an array of {' × '.join(f'{each:,}' for each in shape)} cells is too large",
            hint="narrow the window, or aggregate to a coarser GRID first",
        )
    at = tuple(inverse for _, inverse in places)
    value = np.full(shape, np.nan)
    reason = np.zeros(shape, np.int8)
    value[at], reason[at] = cells.value, cells.reason
    numbers = [unique for unique, _ in places]
    unit = "timedelta64[us]" if topology.time.period else "datetime64[us]"
    coordinates = {
        "time": micros(topology.time, numbers[0]).astype(unit),
        "lat": corners(topology.lat, numbers[1]),
        "lon": corners(topology.lon, numbers[2]),
    }
    told = [TOLD[each] or "" for each in Reason]
    flags = {"flag_values": np.array(list(Reason), np.int8), "flag_meanings": "; ".join(told)}
    variables = {name: (AXES, value), "reason": (AXES, reason, flags)}
    return xr.Dataset(variables, coordinates)


def readings_of(dataset: xr.Dataset, columns: tuple[str, str, str, str]) -> Readings:
    """Return the readings of a dataset: over a grid, or along a track or list of stations.

    Raise BadGridError where a variable is missing, or is no time, place or number.
    """
    missing = [each for each in columns if each not in dataset.variables]
    if missing:
        there = ", ".join(map(str, dataset.variables))
        raise BadGridError(f"no variable {missing[0]}", hint=f"the variables are {there}")
    arrays = xr.broadcast(*(dataset[each] for each in columns))
    time, lat, lon, value = (each.values.ravel() for each in arrays)
    if time.dtype.kind != "M":
        raise BadGridError(
            f"{columns[0]} has no times", hint="its units are those of CF: 'seconds since …'"
        )
    numbers = zip(columns[1:], (lat, lon, value), strict=True)
    lat, lon, value = (_floats(name, each) for name, each in numbers)
    known = ~np.isnat(time)
    when = time.astype("datetime64[us]").astype(np.int64)
    return when[known], lat[known], lon[known], value[known]


def _floats(name: str, values: Any) -> Floats:
    if values.dtype.kind not in "iuf":
        raise BadGridError(f"{name} has no numbers")
    numbers: Floats = values.astype(np.float64)
    return numbers


def opened(path: str, read: Callable[[xr.Dataset], Readings]) -> Readings:
    """Return what `read` finds in a NetCDF file or a Zarr store."""
    try:
        dataset = (
            xr.open_zarr(path)
            if path.rstrip("/").endswith(".zarr")
            else xr.open_dataset(path, engine="h5netcdf")
        )
    except (OSError, ValueError, KeyError) as error:
        raise BadGridError(
            f"{path} cannot be read as NetCDF or Zarr",
            hint="name.nc is NetCDF 4, name.zarr is Zarr",
        ) from error
    with dataset:
        return read(dataset)
