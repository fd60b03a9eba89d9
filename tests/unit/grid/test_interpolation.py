"""Interpolations against brute force and against pykrige."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pykrige.ok3d import OrdinaryKriging3D

from penstock.grid.answers import answered
from penstock.grid.functions.interpolation import on_sphere
from penstock.grid.functions.kriging import fitted
from penstock.grid.space.cells import Reason
from penstock.grid.space.perspectives import Base
from penstock.model.grids import VARIOGRAMS, Axis, Interpolate, Method, Window
from tests.unit.grid.fields import Reading, field_of, perspective, readings, rows

SPACE = {"lat": Axis(Fraction(3, 10)), "lon": Axis(Fraction(3, 10))}
WINDOW = Window(None, (Fraction(-1), Fraction(1)), (Fraction(-1), Fraction(1)))


def points_of(base: Base) -> tuple[np.ndarray, np.ndarray]:
    return on_sphere(base.cells.lat / 10, base.cells.lon / 10), base.cells.value


def stations(count: int, seed: int = 3) -> Base:
    rng = np.random.default_rng(seed)
    places = dict.fromkeys(map(tuple, rng.integers(-14, 14, (count, 2)).tolist()))
    given_ = [(0, lat, lon, lat / 7 - lon / 5 + rng.normal() / 4) for lat, lon in places]
    return field_of(given_)


@settings(deadline=None)
@given(readings(), st.sampled_from(["idw", "nearest"]), st.sampled_from([None, 40_000.0]))
def test_cells_follow_from_the_points_of_their_slice(
    given_: list[Reading], name: str, radius: float | None
) -> None:
    base = field_of(given_)
    method = Method(name, neighbours=5, radius=radius)  # type: ignore[arg-type]
    found = rows(answered(perspective("p", Interpolate(method), base, **SPACE), WINDOW))
    slices = sorted({each[0] for each in given_})
    assert len(found) == 49 * len(slices) if slices else found == {}
    for (time, lat, lon), value in found.items():
        here = [each for each in given_ if each[0] == time]
        places = on_sphere(*(np.array([each[at] / 10 for each in here]) for at in (1, 2)))
        goal = on_sphere(np.array([lat * 0.3]), np.array([lon * 0.3]))
        distance = np.linalg.norm(places - goal, axis=1)
        order = np.argsort(distance, kind="stable")[: 1 if name == "nearest" else 5]
        near = [at for at in order if radius is None or distance[at] < radius]
        if not near:
            assert value is None
            continue
        values = np.array([here[at][3] for at in near])
        ties = np.isclose(distance[order[-1]], np.delete(distance, order)).any()
        if ties:
            continue  # which of two points at one distance is the nearer is nobody's promise
        weights = 1 / np.maximum(distance[near], 1e-9) ** 2
        assert value == pytest.approx(float((weights * values).sum() / weights.sum()), abs=1e-6)


@pytest.mark.parametrize("model", VARIOGRAMS)
@pytest.mark.parametrize(("count", "neighbours"), [(12, 16), (60, 16)])
def test_kriging_equals_that_of_pykrige(model: str, count: int, neighbours: int) -> None:
    base = stations(count)
    method = Method("kriging", neighbours, variogram=model)  # type: ignore[arg-type]
    cells = answered(perspective("p", Interpolate(method), base, **SPACE), WINDOW)
    places, values = points_of(base)
    fit = fitted(places, values, method.variogram)
    assert fit is not None
    parameters = list(fit.parameters)
    if model in ("gaussian", "spherical", "exponential"):
        parameters[0] += parameters[2]  # it takes the full sill and keeps the partial one
    theirs = OrdinaryKriging3D(
        *places.T, values, variogram_model=model, variogram_parameters=parameters
    )
    goals = on_sphere(cells.lat * 0.3, cells.lon * 0.3)
    near = min(neighbours, len(values))
    expected, _ = theirs.execute("points", *goals.T, backend="loop", n_closest_points=near)
    np.testing.assert_allclose(cells.value, np.asarray(expected), rtol=1e-6, atol=1e-6)


def test_the_fit_is_that_of_pykrige() -> None:
    places, values = points_of(stations(40))
    fit = fitted(places, values, "spherical")
    theirs = OrdinaryKriging3D(*places.T, values, variogram_model="spherical")
    assert fit is not None
    np.testing.assert_allclose(fit.parameters, theirs.variogram_model_parameters)


@pytest.mark.parametrize("name", ["kriging", "idw", "nearest"])
def test_a_cell_with_a_reading_has_its_value(name: str) -> None:
    base = stations(30)
    same = {"lat": base.topology.lat, "lon": base.topology.lon}
    method = Method(name)  # type: ignore[arg-type]
    found = rows(answered(perspective("p", Interpolate(method), base, **same)))
    for cell, value in rows(base.cells).items():
        assert found[cell] == pytest.approx(value, abs=1e-6)


def test_far_points_take_no_part_in_kriging() -> None:
    """Two clusters, out of each other's reach: each is kriged as if the other were not."""
    near = [(0, lat, lon, float(lat * lon + lon)) for lat in range(4) for lon in range(4)]
    far = [(0, lat + 80, lon, 99.0 + lat * lon) for lat in range(4) for lon in range(4)]
    method = Method("kriging", neighbours=40, radius=200_000, variogram="linear")
    window = Window(None, (Fraction(0), Fraction(3, 10)), (Fraction(0), Fraction(3, 10)))
    both = perspective("p", Interpolate(method), field_of(near + far), **SPACE)
    alone = perspective("p", Interpolate(method), field_of(near), **SPACE)
    one, other = answered(both, window), answered(alone, window)
    # A linear variogram without a nugget weighs alike whatever its slope.
    np.testing.assert_allclose(one.value, other.value, atol=1e-3)


def test_too_few_points_make_a_cell_null_and_nothing_dead() -> None:
    method = Method("kriging")
    two = field_of([(0, 0, 0, 1.0), (0, 3, 3, 2.0), (5, 1, 1, 1.0), (5, 2, 2, 3.0), (5, 4, 1, 2.0)])
    cells = answered(perspective("p", Interpolate(method), two, **SPACE), WINDOW)
    assert set(cells.reason[cells.time == 0]) == {Reason.TOO_FEW_POINTS}
    assert set(cells.reason[cells.time == 5]) == {Reason.NONE}


def test_equal_readings_krige_to_themselves() -> None:
    flat = field_of([(0, lat, lon, 4.0) for lat in range(3) for lon in range(3)])
    cells = answered(perspective("p", Interpolate(Method("kriging")), flat, **SPACE), WINDOW)
    assert set(cells.value) == {4.0}
