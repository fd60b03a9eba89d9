"""A perspective as Python's own: its cells as a table, as an array with coordinates, in files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.errors import BadArgumentError, BadGridError, BadOptionError
from penstock.grid.space.perspectives import Node
from penstock.grid.space.rows import as_rows
from penstock.model.grids import Axis, Window
from penstock.model.schema import literal, quoted

Time = str | datetime
Times = tuple[Time, Time] | None
Degrees = tuple[float, float] | None
PAIR = 2


@dataclass(frozen=True, slots=True)
class GrowingPicture:
    """What is there of a perspective's cells: `share` of them, or the `whole`."""

    name: str
    share: float
    whole: bool
    table: pa.Table

    def to_table(self) -> pa.Table:
        """Return the cells as rows of time, lat, lon, value and reason."""
        return self.table

    def to_xarray(self) -> Any:
        """Return the cells as an `xarray.Dataset`; those that are not there yet are NaN."""
        return extra("penstock.grid.space.arrays").dataset_of(self.table, self.name)


class PerspectiveReader:
    """The cells of one base or perspective; each call computes them from what is there then."""

    def __init__(
        self,
        name: str,
        ask: Callable[[str], pa.Table],
        surface: Callable[[str], tuple[Node, Window]],
    ) -> None:
        self.name = name
        self._ask = ask
        self._surface = surface

    def to_table(self, time: Times = None, lat: Degrees = None, lon: Degrees = None) -> pa.Table:
        """Return the cells as rows of time, lat, lon, value and reason.

        Args:
            time: from when to when, the end outside; datetimes, or texts in UTC.
            lat: from which latitude to which, both inside, in degrees.
            lon: from which longitude to which, both inside.

        Raises:
            BadGridError: no cell has its corner in the window.
        """
        return self._ask(self._asked(time, lat, lon))

    def to_xarray(self, time: Times = None, lat: Degrees = None, lon: Degrees = None) -> Any:
        """Return the cells as an `xarray.Dataset` of the value and the reason, with coordinates.

        It is dense: holes are NaN. The arguments are those of `to_table`.
        """
        return extra("penstock.grid.space.arrays").dataset_of(
            self.to_table(time, lat, lon), self.name
        )

    def pictures(
        self,
        time: Times = None,
        lat: Degrees = None,
        lon: Degrees = None,
        *,
        share: float = 0.15,
        fold: timedelta | None = None,
        seed: int = 0,
    ) -> Iterator[GrowingPicture]:
        """Yield pictures that grow: first `share` of the cells, most where values differ; then all.

        The last one has all cells; whoever has seen enough stops before. Readings are those that
        are there at the first picture.

        Args:
            time: as in `to_table`.
            lat: as in `to_table`.
            lon: as in `to_table`.
            share: how much is there before the rest is computed in order.
            fold: how much time is one row of the picture, such as a day of hours.
            seed: of the walks; the same seed takes the same ways.

        Raises:
            BadGridError: no cell is in the window, or too many readings are for one process.
        """
        surface, window = self._surface(self._asked(time, lat, lon))
        walk = extra("penstock.grid.walk")
        with needs_extra():
            way = walk.Walk(share, seed=seed, fold=_cells_in(fold, surface.topology.time))
            for each in walk.pictures(surface, window, way):
                rows = as_rows(each.cells, surface.topology)
                yield GrowingPicture(self.name, each.share, each.whole, rows)

    def _asked(self, time: Times, lat: Degrees, lon: Degrees) -> str:
        return f"SELECT * FROM {quoted(self.name)}{_within(time, lat, lon)}"

    def to_zarr(
        self, path: str | Path, time: Times = None, lat: Degrees = None, lon: Degrees = None
    ) -> None:
        """Write the cells as a new Zarr store."""
        dataset = self.to_xarray(time, lat, lon)
        with _written(path):
            dataset.to_zarr(str(path), zarr_format=2)

    def to_netcdf(
        self, path: str | Path, time: Times = None, lat: Degrees = None, lon: Degrees = None
    ) -> None:
        """Write the cells as a NetCDF file."""
        dataset = self.to_xarray(time, lat, lon)
        with _written(path):
            extra("penstock.grid.space.arrays").write_netcdf(dataset, str(path))


def _cells_in(fold: timedelta | None, time: Axis) -> int | None:
    """Return how many cells of time a row of a picture has."""
    if fold is None:
        return None
    count = Fraction(fold // timedelta(microseconds=1), 1_000_000) / time.step
    if count.denominator != 1 or count < 1:
        raise BadArgumentError(f"fold {fold} is no multiple of a cell's time, {time.step} seconds")
    return int(count)


@contextmanager
def _written(path: str | Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise BadGridError(f"{path} cannot be written: {error}") from error


def extra(module: str) -> Any:
    """Return a module that needs what few installations have."""
    with needs_extra():
        return import_module(module)


@contextmanager
def needs_extra() -> Iterator[None]:
    """Say what to install where something is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise BadOptionError(
            f"cells are computed with {error.name}, which is not installed",
            hint="pip install 'penstock[grid]'",
        ) from None


def _within(time: Times, lat: Degrees, lon: Degrees) -> str:
    parts = []
    for axis, bounds in (("time", time), ("lat", lat), ("lon", lon)):
        if bounds is None:
            continue
        if len(bounds) != PAIR:
            raise BadArgumentError(f"{axis} takes a pair: from where to where")
        told = _time if axis == "time" else _degrees
        parts.append(f"{axis} FROM {told(bounds[0])} TO {told(bounds[1])}")
    return f" WITHIN ({', '.join(parts)})" if parts else ""


def _time(given: object) -> str:
    if not isinstance(given, str | datetime):
        raise BadArgumentError("time takes datetimes or texts such as '2007-10-01 00:00'")
    return literal(given if isinstance(given, str) else given.isoformat())


def _degrees(given: object) -> str:
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise BadArgumentError("lat and lon take numbers of degrees")
    return f"{float(given):.12f}"
