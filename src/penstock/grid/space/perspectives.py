"""Bases and perspectives as a tree that can be computed (TIME-42)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from penstock.errors import BadGridError
from penstock.grid.space.cells import Cells, Floats, Ints, Reason, order_of, runs
from penstock.grid.space.nesting import Nestings, nesting
from penstock.grid.space.spans import Region, Spans, span
from penstock.model.grids import (
    Aggregate,
    Axis,
    Convert,
    Formula,
    Interpolate,
    Merge,
    PerspectiveDefinition,
    Topology,
)
from penstock.model.grids.definitions import DataFunction

MICROSECONDS = 1_000_000
NEAR = 1e-6  # of a step: a reading so close to a corner is on it, however its place was rounded
AXES = ("time", "lat", "lon")
Readings = tuple[Ints, Floats, Floats, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """Readings, each in the cell of its own place and time (TIME-41); `extent` holds them all."""

    name: str
    topology: Topology
    cells: Cells
    extent: Region


@dataclass(frozen=True, slots=True, eq=False)
class Perspective:
    """Cells that follow from those of `sources`.

    `before` is a convert that was drawn into it, over its source's values, and `after` one over
    its own. `called` is what the formula of a merge calls its sources.
    """

    name: str
    sources: tuple["Node", ...]
    topology: Topology
    function: DataFunction
    before: Formula | None = None
    after: Formula | None = None
    called: tuple[str, ...] = ()

    @property
    def nested(self) -> Nestings:
        """Return how its cells consist of its source's."""
        pairs = zip(AXES, self.topology.axes, self.sources[0].topology.axes, strict=True)
        time, lat, lon = (nesting(name, target, source) for name, target, source in pairs)
        return (time, lat, lon)


Node = Base | Perspective


def base_of(name: str, topology: Topology, readings: Readings) -> Base:
    """Return the base of readings: times in microseconds, latitudes, longitudes, values.

    What has no time, place or value is left out. Equal readings of one cell are one, and a cell of
    readings that differ is NULL.
    """
    time, lat, lon, value = readings
    there = np.isfinite(lat) & np.isfinite(lon) & np.isfinite(value)
    numbers = (
        _time_numbers(topology.time, time[there]),
        _place_numbers(topology.lat, lat[there]),
        _place_numbers(topology.lon, lon[there]),
    )
    order = order_of(*numbers)
    time_at, lat_at, lon_at = (each[order] for each in numbers)
    cells = Cells(time_at, lat_at, lon_at, value[there][order], np.zeros(len(order), np.int8))
    begins = runs(*cells.numbers)
    if len(begins) == len(cells):
        return Base(name, topology, cells, _extent(cells))
    low = np.minimum.reduceat(cells.value, begins)
    differ = low != np.maximum.reduceat(cells.value, begins)
    reason = np.where(differ, np.int8(Reason.TWO_READINGS), np.int8(Reason.NONE))
    once = cells.taken(begins).with_values(np.where(differ, np.nan, low), reason)
    return Base(name, topology, once, _extent(once))


def empty_base(name: str, topology: Topology) -> Base:
    """Return a base without readings."""
    none, nowhere = np.empty(0, np.int64), np.empty(0)
    return base_of(name, topology, (none, nowhere, nowhere, nowhere))


def derived(definition: PerspectiveDefinition, sources: Sequence[Node]) -> Perspective:
    """Return the perspective over its sources; raise where their cells do not fit (Table 5.2)."""
    first, function = sources[0].topology, definition.function
    given = {each: getattr(definition, each) for each in AXES}
    axes = {each: axis or getattr(first, each) for each, axis in given.items()}
    topology = Topology(**axes)
    called = tuple(each.name for each in sources)
    made = Perspective(definition.name, tuple(sources), topology, function, called=called)
    match function:
        case Merge():
            _refuse_unlike(sources)
            _refuse_grid(given, "merge")
        case Convert():
            _refuse_grid(given, "convert")
        case Interpolate():
            if topology.time != first.time:
                raise BadGridError(
                    "interpolation is along latitude and longitude, within one slice of time",
                    hint="align first: AS aggregate(avg) with GRID (time …), then interpolate",
                )
            if not (topology.lat.period is None and topology.lon.period is None):
                raise BadGridError("scattered cells have no place to interpolate at")
        case Aggregate():
            _ = made.nested  # raises where they do not nest
    return made


def _refuse_unlike(sources: Sequence[Node]) -> None:
    unlike = [each.name for each in sources if each.topology != sources[0].topology]
    if unlike:
        raise BadGridError(
            f"merge needs sources with the same cells; those of {unlike[0]} are not "
            f"those of {sources[0].name}",
            hint="bring them onto one GRID by aggregate(…) first",
        )


def _refuse_grid(given: dict[str, Axis | None], function: str) -> None:
    if any(given.values()):
        raise BadGridError(
            f"{function} keeps its source's cells, so GRID has no place there",
            hint="aggregate(…) and interpolate(…) take a GRID",
        )


def _extent(cells: Cells) -> Region:
    if not len(cells):
        return Region(*(span(0, 0) for _ in AXES))
    return Region(*(_reach(each) for each in cells.numbers))


def _reach(numbers: Ints) -> Spans:
    return span(int(numbers.min()), int(numbers.max()) + 1)


def _time_numbers(axis: Axis, micros: Ints) -> Ints:
    """Return the numbers of cells of time, exactly."""
    step, origin = axis.step * MICROSECONDS, axis.origin * MICROSECONDS
    if step.denominator != 1 or origin.denominator != 1:
        raise BadGridError("time's step must be whole microseconds")
    return np.floor_divide(micros - int(origin), int(step))


def _place_numbers(axis: Axis, degrees: Floats) -> Ints:
    """Return the numbers of cells along a latitude or longitude."""
    at = (degrees - float(axis.origin)) * (axis.step.denominator / axis.step.numerator)
    nearest = np.rint(at)
    return np.where(np.abs(at - nearest) < NEAR, nearest, np.floor(at)).astype(np.int64)


def seconds(micros: int) -> Fraction:
    """Return a time in microseconds in the unit of axes."""
    return Fraction(micros, MICROSECONDS)


def micros(axis: Axis, numbers: Ints) -> Ints:
    """Return the lower corners of cells of time in microseconds, exactly."""
    step, origin = axis.step * MICROSECONDS, axis.origin * MICROSECONDS
    return (numbers * step.numerator) // step.denominator + int(origin)


def corners(axis: Axis, numbers: Ints) -> Floats:
    """Return the lower corners of cells, each rounded once."""
    step, origin = axis.step, axis.origin
    denominator = step.denominator * origin.denominator
    whole = numbers * (step.numerator * origin.denominator)
    return (whole + origin.numerator * step.denominator) / denominator


def number_from(axis: Axis, bound: Fraction) -> int:
    """Return the number of the first cell whose corner is at a bound or past it."""
    at = (bound - axis.origin) / axis.step
    return -((-at.numerator) // at.denominator)
