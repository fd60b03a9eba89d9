"""xarray, NetCDF and Zarr: what goes out comes back."""

from datetime import timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from penstock.errors import BadArgumentError, BadGridError, PenstockError
from penstock.grid.answers import answered
from penstock.grid.reader import PerspectiveReader
from penstock.grid.space.arrays import dataset_of, opened, readings_of
from penstock.grid.space.perspectives import base_of
from penstock.grid.space.rows import as_rows, readings_in
from penstock.model.grids import NO_WINDOW, Axis, Interpolate, Method
from tests.unit.grid.fields import FINE, field_of, perspective, rows

COLUMNS = ("time", "lat", "lon", "t")
READINGS = [(0, 1, 2, 1.5), (0, 3, 4, 2.5), (7, 1, 2, -3.0), (9, -5, 0, 0.25)]


def reader(name: str = "t") -> PerspectiveReader:
    base = field_of(READINGS)
    return PerspectiveReader(
        name, lambda _: as_rows(base.cells, base.topology), lambda _: (base, NO_WINDOW)
    )


def test_pictures_end_with_all_cells() -> None:
    *_, last = reader().pictures(share=0.5, fold=timedelta(seconds=2))
    assert last.whole
    assert last.to_table() == reader().to_table()
    assert last.to_xarray().equals(reader().to_xarray())
    with pytest.raises(BadArgumentError):
        next(reader().pictures(fold=timedelta(milliseconds=1_500)))


def test_rows_of_cells_are_readings_again() -> None:
    base = field_of(READINGS)
    table = as_rows(base.cells, base.topology).select(["time", "lat", "lon", "value"])
    assert rows(base_of("b", FINE, readings_in(table)).cells) == rows(base.cells)


@pytest.mark.parametrize("kind", ["nc", "zarr"])
def test_what_is_written_is_a_base_again(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"field.{kind}"
    write = reader().to_netcdf if kind == "nc" else reader().to_zarr
    write(path)
    again = base_of("b", FINE, opened(str(path), COLUMNS))
    assert rows(again.cells) == rows(field_of(READINGS).cells)


def test_a_list_of_stations_is_a_base() -> None:
    time = pd.date_range("2007-10-01", periods=3, freq="min")
    values = np.arange(6.0).reshape(3, 2)
    dataset = xr.Dataset(
        {"t": (("time", "station"), values)},
        {"time": time, "lat": ("station", [0.1, 0.2]), "lon": ("station", [0.3, 0.4])},
    )
    base = base_of("b", FINE, readings_of(dataset, COLUMNS))
    assert sorted(base.cells.value) == [0, 1, 2, 3, 4, 5]
    assert set(zip(base.cells.lat.tolist(), base.cells.lon.tolist(), strict=True)) == {
        (1, 3),
        (2, 4),
    }


def test_reasons_are_told_by_flags() -> None:
    two = field_of([(0, 0, 0, 1.0), (0, 9, 9, 2.0)])
    axes = {"lat": Axis(Fraction(1, 2)), "lon": Axis(Fraction(1, 2))}
    node = perspective("p", Interpolate(Method("kriging")), two, **axes)
    dataset = dataset_of(as_rows(answered(node), node.topology), "p")
    assert np.isnan(dataset["p"].values).all()
    told = dataset["reason"].attrs["flag_meanings"].split("; ")
    assert {told[each] for each in dataset["reason"].values.ravel()} == {"too few points near it"}


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.nc").write_text("no array")
    (tmp_path / "y.nc").write_bytes(b"CDF nothing more")
    for name in ("y.nc", "missing.nc", "missing.zarr"):
        with pytest.raises(BadGridError):
            opened(str(tmp_path / name), COLUMNS)
    with pytest.raises(PenstockError):  # of h5py, or since that is missing
        opened(str(tmp_path / "x.nc"), COLUMNS)


def test_a_store_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    reader().to_zarr(tmp_path / "a.zarr")
    with pytest.raises(BadGridError):
        reader().to_zarr(tmp_path / "a.zarr")


@pytest.mark.parametrize("columns", [("time", "lat", "lon", "x"), ("lat", "lat", "lon", "t")])
def test_variables_that_do_not_fit_are_refused(columns: tuple[str, str, str, str]) -> None:
    with pytest.raises(BadGridError) as refused:
        readings_of(reader().to_xarray(), columns)
    assert refused.value.hint


def test_a_window_is_written_as_sql() -> None:
    asked: list[str] = []
    base = field_of(READINGS)

    def ask(text: str) -> object:
        asked.append(text)
        return as_rows(base.cells, base.topology)

    each = PerspectiveReader("a b", ask, lambda _: (base, NO_WINDOW))  # type: ignore[arg-type]
    each.to_table(time=("2007-10-01", pd.Timestamp("2007-10-02T03:00")), lat=(-1, 2.5))
    assert asked == [
        "SELECT * FROM `a b` WITHIN (time FROM '2007-10-01' TO '2007-10-02T03:00:00', "
        "lat FROM -1.000000000000 TO 2.500000000000)"
    ]
    for wrong in ({"lat": (1,)}, {"lon": ("a", "b")}, {"time": (1, 2)}):
        with pytest.raises(BadArgumentError):
            each.to_table(**wrong)  # type: ignore[arg-type]
