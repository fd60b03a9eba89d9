"""Aggregates against brute force, and against xarray over whole arrays."""

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.grid.answers import answered
from penstock.grid.space.arrays import dataset_of
from penstock.grid.space.rows import as_rows
from penstock.model.grids import AGGREGATES, Aggregate, Axis, Window
from tests.unit.grid.fields import Reading, field_of, perspective, readings, rows

AGGREGATE: dict[str, Callable[[list[float]], float]] = {
    "avg": lambda each: sum(each) / len(each),
    "sum": sum,
    "min": min,
    "max": max,
    "count": len,
    "median": lambda each: float(np.median(each)),
    "stddev": lambda each: float(np.std(each, ddof=1)) if len(each) > 1 else np.nan,
    "first": lambda each: each[0],
    "last": lambda each: each[-1],
}
steps = st.integers(1, 5)


@settings(deadline=None)
@given(readings(), st.sampled_from(AGGREGATES), steps, steps, st.integers(-4, 4))
def test_aggregates_are_those_of_the_readings_in_a_cell(
    given_: list[Reading], name: str, step: int, size: int, origin: int
) -> None:
    axis = Axis(Fraction(step), Fraction(size), Fraction(origin))
    surface = perspective("p", Aggregate(name), field_of(given_), time=axis)  # type: ignore[arg-type]
    expected: dict[tuple[int, int, int], list[float]] = defaultdict(list)
    for time, lat, lon, value in sorted(given_):
        for cell in range(-60, 61):
            if origin + cell * step <= time < origin + cell * step + size:
                expected[cell, lat, lon].append(value)
    found = rows(answered(surface))
    assert found.keys() == expected.keys()
    for cell, each in expected.items():
        value = found[cell]
        assert (np.nan if value is None else value) == pytest.approx(
            AGGREGATE[name](each), nan_ok=True
        )


@settings(deadline=None)
@given(readings(), steps, steps)
def test_plain_cells_are_a_partition_of_space(given_: list[Reading], time: int, space: int) -> None:
    axes = {
        "time": Axis(Fraction(time)),
        "lat": Axis(Fraction(space, 10)),
        "lon": Axis(Fraction(space, 5)),
    }
    surface = perspective("p", Aggregate("count"), field_of(given_), **axes)
    assert sum(each or 0 for each in rows(answered(surface)).values()) == len(given_)


@given(readings())
def test_an_aggregate_of_aggregates_is_that_of_the_whole(given_: list[Reading]) -> None:
    base = field_of(given_)
    small = perspective("small", Aggregate("sum"), base, time=Axis(Fraction(2)))
    large = perspective("large", Aggregate("sum"), small, time=Axis(Fraction(10)))
    direct = perspective("direct", Aggregate("sum"), base, time=Axis(Fraction(10)))
    assert rows(answered(large)) == rows(answered(direct))


def dense(minutes: int) -> xr.DataArray:
    """Return a full field with holes, as scientists hold it."""
    rng = np.random.default_rng(11)
    values = rng.normal(size=(minutes, 6, 4))
    values[rng.random(values.shape) < 0.2] = np.nan
    time = pd.date_range("2007-10-01", periods=minutes, freq="min")
    lat, lon = np.arange(6) / 10 + 45, np.arange(4) / 10 + 7
    return xr.DataArray(values, {"time": time, "lat": lat, "lon": lon}, ("time", "lat", "lon"))


def base_of_array(array: xr.DataArray) -> list[Reading]:
    frame = array.to_dataframe("value").reset_index().dropna()
    seconds = frame["time"].astype("datetime64[s]").astype("int64")
    lat, lon = (frame["lat"] * 10).round(), (frame["lon"] * 10).round()
    return list(zip(seconds, lat, lon, frame["value"], strict=True))


def test_resampling_equals_that_of_xarray() -> None:
    array = dense(300)
    axes = {"time": Axis(Fraction(600)), "lat": Axis(Fraction(2, 10)), "lon": Axis(Fraction(2, 10))}
    node = perspective("p", Aggregate("avg"), field_of(base_of_array(array)), **axes)
    found = dataset_of(as_rows(answered(node), node.topology), "value")["value"]
    stacked = array.coarsen(time=10, lat=2, lon=2).construct(
        time=("t", "i"), lat=("y", "j"), lon=("x", "k")
    )
    expected = stacked.mean(("i", "j", "k")).values
    assert found.shape == (30, 3, 2)
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)
    assert found["time"].values[1] == np.datetime64("2007-10-01T00:10")


def test_an_hour_of_the_day_over_many_days_equals_that_of_xarray() -> None:
    array = dense(5 * 1440)[::10]
    hours = Axis(Fraction(3600), period=Fraction(86_400))
    node = perspective("p", Aggregate("avg"), field_of(base_of_array(array)), time=hours)
    found = dataset_of(as_rows(answered(node), node.topology), "value")["value"]
    expected = array.groupby("time.hour").mean("time")
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    assert found["time"].values[14] == np.datetime64("1970-01-01T14")


def test_of_scattered_cells_counts_what_lies_in_the_window() -> None:
    array = dense(5 * 1440)[::10]
    hours = Axis(Fraction(3600), period=Fraction(86_400))
    node = perspective("p", Aggregate("avg"), field_of(base_of_array(array)), time=hours)
    low, high = np.datetime64("2007-10-02T06:30"), np.datetime64("2007-10-04T07:20")
    bounds = [Fraction(int(each.astype("datetime64[s]").astype(int))) for each in (low, high)]
    cells = answered(node, Window((bounds[0], bounds[1])))
    inside = array[(array["time"].values >= low) & (array["time"].values < high)]
    expected = inside.groupby("time.hour").mean("time")
    found = dataset_of(as_rows(cells, node.topology), "value")["value"]
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
