"""Aggregate: cells from the cells that they consist of (5.5).

Holes and NULLs are left out, as SQL leaves them out. A cell all of whose sources are NULL is NULL,
and so is one that has no finite result; one without any is a hole.
"""

from collections.abc import Callable

import numpy as np

from penstock.grid.space.cells import Cells, Floats, Ints, Reason, no_cells, runs
from penstock.grid.space.nesting import Nestings
from penstock.grid.space.spans import Region
from penstock.model.grids.definitions import AggregateName


def aggregated(cells: Cells, nested: Nestings, wanted: Region, name: AggregateName) -> Cells:
    """Return the wanted cells of which some source cell is there."""
    spread = _spread(cells, nested, wanted)
    if spread is None:
        return no_cells()
    (time, lat, lon), value = spread
    begins = runs(time, lat, lon)
    counts = np.add.reduceat(~np.isnan(value), begins)
    if name == "count":
        result = counts.astype(np.float64)
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # sums of what is huge: told below
            result = AGGREGATES[name](value, begins, counts)
    result = np.where(np.isfinite(result), result, np.nan)
    why = np.where(counts > 0, np.int8(Reason.NO_NUMBER), np.int8(Reason.ALL_NULL))
    reason = np.where(np.isnan(result), why, np.int8(Reason.NONE))
    return Cells(time[begins], lat[begins], lon[begins], result, reason)


def _spread(
    cells: Cells, nested: Nestings, wanted: Region
) -> tuple[tuple[Ints, Ints, Ints], Floats] | None:
    """Return each value under each cell to which it belongs, those of one cell in time's order."""
    axes = zip(nested, cells.numbers, wanted.axes, strict=True)
    choices = [
        [(target, there & held.holds(target)) for target, there in each.targets(numbers)]
        for each, numbers, held in axes
    ]
    found: list[tuple[Ints, Ints, Ints, Floats, Ints]] = []
    for time, in_time in choices[0]:
        for lat, in_lat in choices[1]:
            for lon, in_lon in choices[2]:
                at = np.flatnonzero(in_time & in_lat & in_lon)
                found.append((time[at], lat[at], lon[at], cells.value[at], at))
    time, lat, lon, value, at = map(np.concatenate, zip(*found, strict=True))
    if not len(at):
        return None
    order = np.lexsort((at, lon, lat, time))
    return (time[order], lat[order], lon[order]), value[order]


def _sum(value: Floats, begins: Ints, counts: Ints) -> Floats:
    total = np.add.reduceat(np.nan_to_num(value), begins)
    return np.where(counts > 0, total, np.nan)


def _avg(value: Floats, begins: Ints, counts: Ints) -> Floats:
    return _sum(value, begins, counts) / np.maximum(counts, 1)


def _stddev(value: Floats, begins: Ints, counts: Ints) -> Floats:
    """Return the sample's deviation; of one value it is NULL."""
    lengths = np.diff(np.append(begins, len(value)))
    apart = value - np.repeat(_avg(value, begins, counts), lengths)
    square = np.add.reduceat(np.nan_to_num(apart * apart), begins)
    return np.where(counts > 1, np.sqrt(square / np.maximum(counts - 1, 1)), np.nan)


def _median(value: Floats, begins: Ints, counts: Ints) -> Floats:
    lengths = np.diff(np.append(begins, len(value)))
    ordered = value[np.lexsort((value, np.repeat(np.arange(len(begins)), lengths)))]
    low = begins + np.maximum(counts - 1, 0) // 2  # NaN sorts behind all numbers of its cell
    high = begins + np.maximum(counts // 2, 0)
    high = np.where(counts > 0, high, low)
    middle: Floats = (ordered[low] + ordered[high]) / 2
    return middle


def _first(value: Floats, begins: Ints, counts: Ints) -> Floats:
    places = np.where(np.isnan(value), len(value), np.arange(len(value)))
    at = np.minimum.reduceat(places, begins)
    return np.where(counts > 0, value[np.minimum(at, len(value) - 1)], np.nan)


def _last(value: Floats, begins: Ints, counts: Ints) -> Floats:
    places = np.where(np.isnan(value), -1, np.arange(len(value)))
    at = np.maximum.reduceat(places, begins)
    return np.where(counts > 0, value[np.maximum(at, 0)], np.nan)


AGGREGATES: dict[AggregateName, Callable[[Floats, Ints, Ints], Floats]] = {
    "avg": _avg,
    "sum": _sum,
    "min": lambda value, begins, _: np.fmin.reduceat(value, begins),
    "max": lambda value, begins, _: np.fmax.reduceat(value, begins),
    "median": _median,
    "stddev": _stddev,
    "first": _first,
    "last": _last,
}
