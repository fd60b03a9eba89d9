"""Cells as arrays with coordinates, and readings from such arrays: xarray's, NetCDF's, Zarr's."""

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import xarray as xr

from penstock.errors import BadGridError, BadOptionError
from penstock.grid.space.cells import TOLD, Floats, Reason
from penstock.grid.space.perspectives import AXES, Readings

MOST_CELLS = 50_000_000  # of a dense array: 450 MB with its reasons
CLASSIC = b"CDF"  # how a file of NetCDF 3 begins


def dataset_of(cells: pa.Table, name: str) -> xr.Dataset:
    """Return rows of cells as a dense array over those coordinates at which there are any.

    `reason` says by number why a cell is NULL; its attributes name the numbers.
    """
    places = [np.unique(_coordinate(cells, axis), return_inverse=True) for axis in AXES]
    shape = tuple(len(coordinates) for coordinates, _ in places)
    if prod(shape) > MOST_CELLS:
        raise BadGridError(
            f"an array of {' × '.join(f'{each:,}' for each in shape)} cells is too large",
            hint="narrow the window, or aggregate to a coarser GRID first",
        )
    at = tuple(inverse for _, inverse in places)
    value, reason = np.full(shape, np.nan), np.zeros(shape, np.int8)
    value[at] = cells["value"].to_numpy()
    reason[at] = _numbers(cells["reason"])
    flags = {
        "flag_values": np.array(list(Reason), np.int8),
        "flag_meanings": "; ".join(TOLD[each] or "none" for each in Reason),
    }
    coordinates = {axis: each for axis, (each, _) in zip(AXES, places, strict=True)}
    return xr.Dataset({name: (AXES, value), "reason": (AXES, reason, flags)}, coordinates)


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
        hint = "its units are those of CF: 'seconds since …'"
        raise BadGridError(f"{columns[0]} has no times", hint=hint)
    numbers = zip(columns[1:], (lat, lon, value), strict=True)
    lat, lon, value = (_floats(name, each) for name, each in numbers)
    known = ~np.isnat(time)
    when = time.astype("datetime64[us]").astype(np.int64)
    return when[known], lat[known], lon[known], value[known]


def opened(path: str, columns: tuple[str, str, str, str]) -> Readings:
    """Return the readings of a NetCDF file or a Zarr store."""
    try:
        with _dataset(path) as dataset:
            return readings_of(dataset, columns)
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise BadGridError(
            f"{path} cannot be read as NetCDF or Zarr",
            hint="name.zarr is a Zarr store, all else NetCDF",
        ) from error
    except ImportError as error:
        raise BadOptionError(
            f"{path} is NetCDF 4, which is read with h5py, and that is not installed",
            hint="pip install h5py, or store it as NetCDF 3 or Zarr",
        ) from error


def write_netcdf(dataset: xr.Dataset, path: str) -> None:
    """Write NetCDF 3, which every tool reads; its integers are too small for microseconds."""
    seconds = {"units": "seconds since 1970-01-01", "dtype": "float64"}
    dataset.to_netcdf(path, engine="scipy", format="NETCDF3_64BIT", encoding={"time": seconds})


def _dataset(path: str) -> xr.Dataset:
    if path.rstrip("/").endswith(".zarr"):
        store: xr.Dataset = xr.open_zarr(path)
        return store
    with Path(path).open("rb") as file:
        is_classic = file.read(len(CLASSIC)) == CLASSIC
    return xr.open_dataset(path, engine="scipy" if is_classic else "h5netcdf")


def _coordinate(cells: pa.Table, axis: str) -> Any:
    column = cells[axis]
    return column.cast(pa.timestamp("us")).to_numpy() if axis == "time" else column.to_numpy()


def _numbers(reasons: pa.ChunkedArray) -> Any:
    """Return the numbers of reasons that are told as text."""
    numbers = {told: reason for reason, told in TOLD.items()}
    coded = reasons.combine_chunks().dictionary_encode()
    known = np.array([*(numbers[each] for each in coded.dictionary.to_pylist()), 0], np.int8)
    at = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.where(at < 0, np.int8(Reason.NONE), known[at])


def _floats(name: str, values: Any) -> Floats:
    if values.dtype.kind not in "iuf":
        raise BadGridError(f"{name} has no numbers")
    numbers: Floats = values.astype(np.float64)
    return numbers
