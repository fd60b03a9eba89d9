"""Ordinary kriging with moving neighbourhoods: pykrige's variograms, numpy's systems.

pykrige solves the systems of moving neighbourhoods in a loop over cells; here those of one slice
are one stack of matrices. Cressie, Statistics for Spatial Data (1993), chapter 3.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.grid.space.cells import Floats, Ints
from penstock.model.grids.definitions import Variogram

LAGS = 6  # classes of distance, pykrige's default
MOST_FITTED = 500  # points that a fit looks at: it takes all pairs
HERE = 1e-6  # metres; below them two places are one


@dataclass(frozen=True, slots=True)
class Fit:
    """A variogram: its model and the model's parameters; `level` where all values are equal."""

    model: Variogram
    parameters: tuple[float, ...]
    level: float | None = None

    def at(self, distance: Floats) -> Floats:
        """Return how much values differ at a distance; nothing, at none."""
        flat = distance.ravel()
        differ = _model(self.model)(list(self.parameters), flat)
        return np.where(flat <= HERE, 0.0, differ).reshape(distance.shape)


def fitted(points: Floats, values: Floats, model: Variogram) -> Fit | None:
    """Return the variogram of some points, or None where there is none that fits."""
    if len(values) > MOST_FITTED:
        some = np.linspace(0, len(values) - 1, MOST_FITTED).astype(np.int64)
        points, values = points[some], values[some]
    if np.ptp(values) == 0:
        return Fit(model, (), float(values[0]))
    from pykrige import core  # noqa: PLC0415  (an extra)

    try:
        given = core._make_variogram_parameter_list(model, None)
        _, _, parameters = core._initialize_variogram_model(
            points, values, model, given, _model(model), LAGS, False, "euclidean"
        )
    except (ValueError, RuntimeError, FloatingPointError, np.linalg.LinAlgError):
        return None
    found = tuple(map(float, parameters))
    return Fit(model, found) if np.isfinite(found).all() else None


def _model(name: Variogram) -> Callable[[list[float], Floats], Floats]:
    from pykrige import variogram_models  # noqa: PLC0415  (an extra)

    found: Callable[[list[float], Floats], Floats] = getattr(
        variogram_models, f"{name}_variogram_model"
    )
    return found


def kriged(points: Floats, values: Floats, distance: Floats, near: Ints, fit: Fit) -> Floats:
    """Return the value of each goal from its neighbours; those at an infinite distance count not.

    NaN where the system of a goal has no solution.
    """
    if fit.level is not None:
        return np.full(len(distance), fit.level)
    if near.shape[1] == len(points) and np.isfinite(distance).all():
        return _by_one_system(points, values, distance, near, fit)
    return _by_own_systems(points, values, distance, near, fit)


def _by_one_system(
    points: Floats, values: Floats, distance: Floats, near: Ints, fit: Fit
) -> Floats:
    """Where all points are neighbours of all goals, one matrix has many right sides."""
    count = len(points)
    system = np.ones((count + 1, count + 1))
    system[:count, :count] = fit.at(_apart(points))
    system[count, count] = 0.0
    right = np.ones((count + 1, len(distance)))
    right[near, np.arange(len(distance))[:, None]] = fit.at(distance)
    result: Floats = values @ _solved(system, right)[:count]
    return result


def _by_own_systems(
    points: Floats, values: Floats, distance: Floats, near: Ints, fit: Fit
) -> Floats:
    """A stack of systems; a neighbour that is too far gets a row that says its weight is zero."""
    goals, count = distance.shape
    there = np.isfinite(distance)
    system = np.ones((goals, count + 1, count + 1))
    among = points[near]
    system[:, :count, :count] = fit.at(_apart(among))
    system[:, count, count] = 0.0
    right = np.ones((goals, count + 1, 1))
    right[:, :count, 0] = fit.at(np.where(there, distance, 0.0))
    if not there.all():
        pair = np.append(there, np.ones((goals, 1), bool), axis=1)
        system = np.where(pair[:, :, None] & pair[:, None, :], system, np.eye(count + 1))
        right = np.where(pair[:, :, None], right, 0.0)
    weights = _solved(system, right)[:, :count, 0]
    result: Floats = (weights * values[near]).sum(axis=1)
    return result


def _apart(points: Floats) -> Floats:
    """Return the distances between points, also of stacks of them."""
    square: Floats = ((points[..., :, None, :] - points[..., None, :, :]) ** 2).sum(axis=-1)
    return np.sqrt(square)


def _solved(system: Floats, right: Floats) -> Floats:
    """Return the solution; the shortest one where a system has many, NaN where it has none."""
    try:
        return np.linalg.solve(system, right).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        pass
    try:
        return np.linalg.pinv(system) @ right
    except np.linalg.LinAlgError:
        return np.full(right.shape, np.nan)
