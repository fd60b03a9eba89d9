"""Cells with their values, sparse: those of a hole are not there."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]


class Reason(IntEnum):
    """Why a cell that is there has no value."""

    NONE = 0
    CLEANED = 1
    ALL_NULL = 2
    TOO_FEW_POINTS = 3
    NO_FIT = 4
    TWO_READINGS = 5
    NO_NUMBER = 6


TOLD = {
    Reason.NONE: None,
    Reason.CLEANED: "a formula gave NULL",
    Reason.ALL_NULL: "all its cells are NULL",
    Reason.TOO_FEW_POINTS: "too few points near it",
    Reason.NO_FIT: "no kriging system of its points has a solution",
    Reason.TWO_READINGS: "readings of it differ",
    Reason.NO_NUMBER: "its cells come to no number",
}


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Cells by their numbers along each axis, in the order of time, latitude, longitude.

    Law: no cell is there twice, `value` is NaN exactly where `reason` is not NONE, and no value
    is infinite.
    """

    time: Ints
    lat: Ints
    lon: Ints
    value: Floats
    reason: Bytes

    def __len__(self) -> int:
        return len(self.value)

    @property
    def numbers(self) -> tuple[Ints, Ints, Ints]:
        """Return the cells' numbers along each axis."""
        return (self.time, self.lat, self.lon)

    def taken(self, which: Mask | Ints | slice) -> "Cells":
        """Return some of the cells; an order of other numbers is the caller's to keep."""
        return Cells(
            self.time[which],
            self.lat[which],
            self.lon[which],
            self.value[which],
            self.reason[which],
        )

    def with_values(self, value: Floats, reason: Bytes) -> "Cells":
        """Return the same cells with other values."""
        return Cells(self.time, self.lat, self.lon, value, reason)


def no_cells() -> Cells:
    """Return none."""
    none = np.empty(0, np.int64)
    return Cells(none, none, none, np.empty(0), np.empty(0, np.int8))


def order_of(time: Ints, lat: Ints, lon: Ints) -> Ints:
    """Return the order of cells, those of equal numbers as they came."""
    return np.lexsort((lon, lat, time))


def together(parts: Sequence[Cells]) -> Cells:
    """Return cells of which no two parts share any, in their order."""
    filled = [each for each in parts if len(each)]
    if len(filled) < 2:  # noqa: PLR2004  (one part is in order)
        return filled[0] if filled else no_cells()
    columns = zip(*((*each.numbers, each.value, each.reason) for each in filled), strict=True)
    time, lat, lon, value, reason = map(np.concatenate, columns)
    whole = Cells(time, lat, lon, value, reason)
    return whole.taken(order_of(time, lat, lon))


def runs(time: Ints, lat: Ints, lon: Ints) -> Ints:
    """Return where, of numbers in order, each cell begins."""
    if not len(time):
        return np.empty(0, np.int64)
    changes = (np.diff(time) != 0) | (np.diff(lat) != 0) | (np.diff(lon) != 0)
    return np.concatenate(([0], np.flatnonzero(changes) + 1))
