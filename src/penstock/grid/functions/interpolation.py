"""Interpolate: cells of a slice of time from its cells near them (5.4).

Places are points on a sphere, so that a metre is one in every direction. A cell stands for its
lower-left corner. Slices are done one after the other, the cells of one all at once.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.grid.functions.kriging import Fit, fitted, kriged
from penstock.grid.space.cells import Bytes, Cells, Floats, Ints, Reason, no_cells
from penstock.grid.space.perspectives import corners
from penstock.grid.space.spans import Region
from penstock.model.grids import Method, Topology

EARTH = 6_371_008.8  # metres, the mean radius
AT_ONCE = 4_096  # cells whose neighbours are looked at together: bounds memory, not speed


@dataclass(slots=True)
class Fits:
    """The variograms of slices, each fitted once; slices must not change."""

    known: dict[int, Fit | None] = field(default_factory=dict)

    def of(self, slice_: int, points: Floats, values: Floats, method: Method) -> Fit | None:
        """Return the variogram of a slice, or None where there is none."""
        if slice_ not in self.known:
            self.known[slice_] = fitted(points, values, method.variogram)
        return self.known[slice_]


def on_sphere(lat: Floats, lon: Floats) -> Floats:
    """Return places in degrees as points in metres, a row each."""
    phi, lam = np.radians(lat), np.radians(lon)
    around = np.cos(phi)
    return EARTH * np.column_stack((around * np.cos(lam), around * np.sin(lam), np.sin(phi)))


def interpolated(
    cells: Cells, topology: tuple[Topology, Topology], wanted: Region, method: Method, fits: Fits
) -> Cells:
    """Return all wanted cells of each slice in which a source cell is there.

    `topology` is that of the cells and that of the wanted ones, whose time is the same.
    """
    known = cells.taken(~np.isnan(cells.value))
    if not len(cells) or not len(wanted):
        return no_cells()
    lat, lon = (each.ravel() for each in _mesh(wanted))
    goals = on_sphere(corners(topology[1].lat, lat), corners(topology[1].lon, lon))
    places = on_sphere(corners(topology[0].lat, known.lat), corners(topology[0].lon, known.lon))
    slices = np.unique(cells.time)
    slices = slices[wanted.time.holds(slices)]
    begins, ends = (np.searchsorted(known.time, slices, side) for side in ("left", "right"))
    value, reason = (
        np.empty((len(slices), len(goals))),
        np.empty((len(slices), len(goals)), np.int8),
    )
    for at, (slice_, begin, end) in enumerate(zip(slices, begins, ends, strict=True)):
        points, values = places[begin:end], known.value[begin:end]
        value[at], reason[at] = _slice(points, values, goals, method, (fits, int(slice_)))
    return Cells(
        np.repeat(slices, len(goals)),
        np.tile(lat, len(slices)),
        np.tile(lon, len(slices)),
        value.ravel(),
        reason.ravel(),
    )


def _mesh(wanted: Region) -> tuple[Ints, Ints]:
    lat, lon = np.meshgrid(wanted.lat.numbers(), wanted.lon.numbers(), indexing="ij")
    return lat, lon


def _slice(
    points: Floats, values: Floats, goals: Floats, method: Method, known: tuple[Fits, int]
) -> tuple[Floats, Bytes]:
    """Return the value of each goal from the points of one slice, and why some have none."""
    result = np.full(len(goals), np.nan)
    reason = np.full(len(goals), np.int8(Reason.TOO_FEW_POINTS))
    if len(points) < method.least:
        return result, reason
    fit: Fit | None = None
    if method.name == "kriging":
        fits, slice_ = known
        fit = fits.of(slice_, points, values, method)
        if fit is None:
            return result, np.full(len(goals), np.int8(Reason.NO_FIT))
    from scipy.spatial import cKDTree  # noqa: PLC0415  (an extra)

    tree = cKDTree(points)
    for begin in range(0, len(goals), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        distance, near = _selected(tree, goals[part], method)
        enough = np.isfinite(distance).sum(axis=1) >= method.least
        found = np.full(len(distance), np.nan)
        found[enough] = _combined(points, values, (distance[enough], near[enough]), method, fit)
        result[part] = np.where(np.isfinite(found), found, np.nan)
        told = np.where(enough, np.int8(Reason.NO_FIT), np.int8(Reason.TOO_FEW_POINTS))
        reason[part] = np.where(np.isnan(result[part]), told, np.int8(Reason.NONE))
    return result, reason


def _selected(tree: Any, goals: Floats, method: Method) -> tuple[Floats, Ints]:
    """Select the input of each goal: its nearest points, far ones at an infinite distance."""
    most = 1 if method.name == "nearest" else min(method.neighbours, tree.n)
    reach = np.inf if method.radius is None else method.radius
    distance, near = tree.query(goals, k=[*range(1, most + 1)], distance_upper_bound=reach)
    return distance, np.where(np.isfinite(distance), near, 0)


def _combined(
    points: Floats,
    values: Floats,
    selected: tuple[Floats, Ints],
    method: Method,
    fit: Fit | None,
) -> Floats:
    distance, near = selected
    if method.name == "nearest":
        return values[near[:, 0]]
    if fit is not None:
        return kriged(points, values, distance, near, fit)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = distance**-method.power
        weighed = (weight * values[near]).sum(axis=1) / weight.sum(axis=1)
    here = distance[:, 0] == 0
    return np.where(here, values[near[:, 0]], weighed)
