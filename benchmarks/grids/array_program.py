"""Q1 to Q4 as a scientist writes them: pandas, numpy and pykrige over whole arrays."""

import numpy as np
import pandas as pd
import pyarrow as pa
import xarray as xr

from benchmarks.grids.queries import NEIGHBOURS, Query
from penstock.grid.functions.interpolation import on_sphere
from penstock.grid.functions.kriging import fitted, kriged

ALIGNED = "30min"


def array_program(
    readings: pa.Table, measure: str, limits: tuple[float, float], query: Query
) -> np.ndarray:
    """Return the mean map: the kernels of kriging are the same, the rest is by hand."""
    return np.mean([_stacked(*each) for each in _slices(readings, measure, limits, query)], axis=0)


def plain_pykrige(
    readings: pa.Table, measure: str, limits: tuple[float, float], query: Query
) -> np.ndarray:
    """Return the same by pykrige alone, with its own moving neighbourhood."""
    from pykrige.ok3d import OrdinaryKriging3D  # noqa: PLC0415  (it loads much)

    maps = []
    for points, values, goals in _slices(readings, measure, limits, query):
        kriging = OrdinaryKriging3D(*points.T, values, variogram_model="spherical")
        near = min(NEIGHBOURS, len(values))
        value, _ = kriging.execute("points", *goals.T, backend="loop", n_closest_points=near)
        maps.append(np.asarray(value))
    return np.mean(maps, axis=0)


def _slices(
    readings: pa.Table, measure: str, limits: tuple[float, float], query: Query
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Clean and align by xarray's resampling, station by station; return each slice's points."""
    begin, end = (pd.Timestamp(int(each), unit="s") for each in query.window.time or (0, 0))
    columns = readings.select(["station", "ts", "lat", "lon", measure]).to_pandas()
    columns["ts"] = columns["ts"].dt.tz_localize(None).astype("datetime64[ns]")
    columns = columns[(columns["ts"] >= begin) & (columns["ts"] < end)]
    clean = columns[measure].where(columns[measure].between(*limits))
    places = columns.groupby("station")[["lat", "lon"]].first()
    aligned = [
        xr.DataArray(clean[rows.index].to_numpy(), {"time": rows["ts"].to_numpy()}, ("time",))
        .resample(time=ALIGNED)
        .mean()
        for _, rows in columns.groupby("station")
    ]
    whole = xr.concat(aligned, "station", join="outer").transpose("time", "station").to_numpy()
    corner = np.floor(places.to_numpy() * 3_600_000 + 1e-6) / 3_600_000
    points, goals = on_sphere(*corner.T), on_sphere(*_goals(query))
    known = ~np.isnan(whole)
    return [
        (points[there], row[there], goals)
        for row, there in zip(whole, known, strict=True)
        if there.sum() > 2
    ]


def _goals(query: Query) -> tuple[np.ndarray, np.ndarray]:
    arcs = []
    for bounds in (query.window.lat, query.window.lon):
        low, high = bounds or (0, 0)
        arcs.append(np.arange(int(low * 3600), int(high * 3600) + 1) / 3600)
    lat, lon = np.meshgrid(*arcs, indexing="ij")
    return lat.ravel(), lon.ravel()


def _stacked(points: np.ndarray, values: np.ndarray, goals: np.ndarray) -> np.ndarray:
    from scipy.spatial import cKDTree  # noqa: PLC0415  (an extra)

    fit = fitted(points, values, "spherical")
    assert fit is not None
    distance, near = cKDTree(points).query(goals, k=min(NEIGHBOURS, len(values)))
    return kriged(points, values, distance, near, fit)
