"""Windows over several items: what a function declares that it needs, and how it is found.

A window of this room is a run of items (GSDM-12). A function declares its window and gets, for each
batch, all windows that are complete; the items that later windows need are carried along.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import BadRowError, BadWindowError
from penstock.functions.data.items import Items, StreamType

Size = int | str
Span = timedelta | float | str


@dataclass(frozen=True, slots=True)
class CurrentWindow:
    """Each item for itself."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the parameters that it depends on."""
        return ()

    def bound(self, _parameters: Mapping[str, Any]) -> None:
        """Return how items are cut: not at all."""
        return


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """`size` items, then `step` items on; a text names the parameter that says it."""

    size: Size
    step: Size

    @property
    def names(self) -> tuple[str, ...]:
        """Return the parameters that it depends on."""
        return tuple(each for each in (self.size, self.step) if isinstance(each, str))

    def bound(self, parameters: Mapping[str, Any]) -> "BySize":
        """Return how items are cut, with these parameters."""
        size, step = _named(self.size, parameters), _named(self.step, parameters)
        step = size if step is None else step
        if not all(isinstance(each, int) and each >= 1 for each in (size, step)):
            raise BadWindowError(
                f"a window of {size} items every {step} items is none",
                hint="both have to be whole numbers from 1 on",
            )
        return BySize(size, step)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """For each item, those before it that are at most `span` seconds older, and itself."""

    span: Span

    @property
    def names(self) -> tuple[str, ...]:
        """Return the parameters that it depends on."""
        return (self.span,) if isinstance(self.span, str) else ()

    def bound(self, parameters: Mapping[str, Any]) -> "BySpan":
        """Return how items are cut, with these parameters."""
        span = _named(self.span, parameters)
        seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
        if not 0 <= seconds < float("inf"):
            raise BadWindowError(
                f"a window cannot last {seconds} seconds", hint="a number from 0 on"
            )
        return BySpan(seconds)


Window = CurrentWindow | SlidingWindow | TimeWindow


def current_window() -> CurrentWindow:
    """Return the window that is one item."""
    return CurrentWindow()


def sliding_window(size: Size, step: Size | None = None) -> SlidingWindow:
    """Return windows of `size` items, every `step` items; without a step they do not overlap."""
    return SlidingWindow(size, size if step is None else step)


def time_window(span: Span) -> TimeWindow:
    """Return windows of the last `span`."""
    return TimeWindow(span)


@dataclass(frozen=True, eq=False)
class ItemWindows:
    """Complete windows: window w is the items from `starts[w]` up to `stops[w]`."""

    items: Items
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def last(self) -> Items:
        """Return the last item of each window."""
        return self.items.take(self.stops - 1)

    @property
    def covered(self) -> Items:
        """Return all items from the first window's first to the last one's last."""
        return self.items.slice(int(self.starts[0]), int(self.stops[-1]))

    def pick(self, places: npt.NDArray[Any]) -> Items:
        """Return one item of each window: the one at a place, from zero."""
        return self.items.take(self.starts + places)

    def stack(self, name: str) -> npt.NDArray[Any]:
        """Return the vectors of each window as an (m, size, N) view; all of one length."""
        sizes = self.stops - self.starts
        matrix = self.items.vectors(name).matrix
        if matrix is None or (sizes != sizes[:1]).any():
            raise BadRowError(
                f"windows of {name} differ in how much they hold",
                hint="vectors of one length, in windows of as many items each",
            )
        views = np.lib.stride_tricks.sliding_window_view(matrix, int(sizes[0]), axis=0)
        return np.moveaxis(views[self.starts], -1, 1)

    def only(self, first: int, stop: int) -> "ItemWindows":
        """Return some of the windows."""
        return ItemWindows(self.items, self.starts[first:stop], self.stops[first:stop])


def _named(value: Any, parameters: Mapping[str, Any]) -> Any:
    return parameters[value] if isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class WindowCut:
    """Complete windows, where the items begin that later ones need, and how many to skip first."""

    windows: ItemWindows
    tail: int
    skip: int = 0


@dataclass(frozen=True, slots=True)
class BySize:
    """Windows of `size` items, every `step` items. Results may be as old as the tail."""

    size: int
    step: int
    holds_back = True

    def cut(self, items: Items, _old: int, skip: int) -> WindowCut:
        """Cut items, the first `skip` of which no window needs."""
        length = len(items) - skip
        count = (length - self.size) // self.step + 1 if length >= self.size else 0
        starts = skip + np.arange(count, dtype=np.int64) * self.step
        ahead = skip + count * self.step
        tail = min(ahead, len(items))
        return WindowCut(ItemWindows(items, starts, starts + self.size), tail, ahead - tail)


@dataclass(frozen=True, slots=True)
class BySpan:
    """A window that ends with each item. Results are as new as that."""

    seconds: float
    holds_back = False

    def cut(self, items: Items, old: int, _skip: int) -> WindowCut:
        """Cut items, the first `old` of which have had their windows."""
        span = span_of(items.type, self.seconds)
        starts = np.searchsorted(items.times, items.times - span, side="left").astype(np.int64)
        stops = np.arange(1, len(items) + 1, dtype=np.int64)
        tail = int(starts[-1]) if len(starts) else 0
        return WindowCut(ItemWindows(items, starts[old:], stops[old:]), tail)


def span_of(kind: StreamType, seconds: float) -> int:
    """Return a span in the unit of items' times: that of the column that orders them."""
    ordering = kind.ordering
    stamps = ordering is not None and pa.types.is_timestamp(kind.field(ordering).type)
    return round(seconds * 1_000_000) if stamps else round(seconds)
