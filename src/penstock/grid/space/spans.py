"""Which cells are wanted: unions of ranges along each axis, and the space that they span."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np

from penstock.grid.space.cells import Cells, Ints, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Numbers from each of `starts` to before its stop; in order, apart from each other."""

    starts: Ints
    stops: Ints

    def __len__(self) -> int:
        return int((self.stops - self.starts).sum())

    @property
    def first(self) -> int:
        """Return the lowest number; there must be one."""
        return int(self.starts[0])

    @property
    def stop(self) -> int:
        """Return what comes after the highest number; there must be one."""
        return int(self.stops[-1])

    def holds(self, numbers: Ints) -> Mask:
        """Say which of these numbers are in it."""
        if not len(self.starts):
            return np.zeros(len(numbers), bool)
        at = np.searchsorted(self.starts, numbers, side="right") - 1
        return (at >= 0) & (numbers < self.stops[np.maximum(at, 0)])

    def numbers(self) -> Ints:
        """Return them one by one."""
        lengths = self.stops - self.starts
        before = np.cumsum(lengths) - lengths
        each: Ints = np.arange(lengths.sum()) + np.repeat(self.starts - before, lengths)
        return each

    def cut(self, most: int) -> list["Spans"]:
        """Return at most so many parts of about one length, in order."""
        cuts = np.unique(np.linspace(0, len(self), most + 1).astype(np.int64))
        before = np.cumsum(self.stops - self.starts) - (self.stops - self.starts)
        shift = self.starts - before
        return [
            spans(np.maximum(self.starts, low + shift), np.minimum(self.stops, high + shift))
            for low, high in pairwise(cuts)
        ]

    def __and__(self, other: "Spans") -> "Spans":
        starts = np.maximum.outer(self.starts, other.starts).ravel()
        stops = np.minimum.outer(self.stops, other.stops).ravel()
        return spans(starts, stops)

    def __sub__(self, other: "Spans") -> "Spans":
        """Return what is not in the other: between its stops and its next starts."""
        low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        gaps = Spans(np.concatenate(([low], other.stops)), np.concatenate((other.starts, [high])))
        return self & gaps

    def __or__(self, other: "Spans") -> "Spans":
        return spans(
            np.concatenate((self.starts, other.starts)), np.concatenate((self.stops, other.stops))
        )


def spans(starts: Ints, stops: Ints) -> Spans:
    """Return ranges in any order, of which some may be empty or touch, as spans."""
    filled = stops > starts
    starts, stops = starts[filled], stops[filled]
    order = np.argsort(starts, kind="stable")
    starts, stops = starts[order], stops[order]
    if not len(starts):
        return Spans(starts, stops)
    reach = np.maximum.accumulate(stops)
    opens = np.concatenate(([True], starts[1:] > reach[:-1]))
    closes = np.concatenate((opens[1:], [True]))
    return Spans(starts[opens], reach[closes])


def span(start: int, stop: int) -> Spans:
    """Return one range."""
    return spans(np.array([start], np.int64), np.array([stop], np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The cells whose number along each axis is in its spans."""

    time: Spans
    lat: Spans
    lon: Spans

    @property
    def axes(self) -> tuple[Spans, Spans, Spans]:
        """Return the spans of each axis in their order."""
        return (self.time, self.lat, self.lon)

    def __len__(self) -> int:
        return len(self.time) * len(self.lat) * len(self.lon)

    def along(self, axis: int, wanted: Spans) -> "Region":
        """Return the region with other spans along one axis."""
        return Region(*(*self.axes[:axis], wanted, *self.axes[axis + 1 :]))

    def of(self, cells: Cells) -> Cells:
        """Return those of the cells that are in it."""
        if not len(cells) or not len(self):
            return cells.taken(slice(0, 0))
        low, high = np.searchsorted(cells.time, (self.time.first, self.time.stop))
        near = cells.taken(slice(int(low), int(high)))
        masks = (held.holds(each) for held, each in zip(self.axes, near.numbers, strict=True))
        return near.taken(reduce(np.logical_and, masks))


def around(regions: Sequence[Region]) -> Region:
    """Return the smallest region that holds all of these."""
    first, *others = regions
    for each in others:
        first = Region(*(one | other for one, other in zip(first.axes, each.axes, strict=True)))
    return first
