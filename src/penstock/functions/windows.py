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

from penstock.errors import BadRowError, BadWindowError
from penstock.functions.items import Items, Numbers

Size = int | str
Span = timedelta | float | str


@dataclass(frozen=True, slots=True)
class CurrentWindow:
    """Each item for itself."""

    def bound(self, parameters: Mapping[str, Any]) -> "CurrentWindow":
        """Return the window with its parameters filled in."""
        return self


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """`size` items, then `step` items on; a text names the parameter that says it."""

    size: Size
    step: Size

    def bound(self, parameters: Mapping[str, Any]) -> "SlidingWindow":
        """Return the window with its parameters filled in."""
        size, step = _named(self.size, parameters), _named(self.step, parameters)
        step = size if step is None else step
        if size < 1 or step < 1:
            raise BadWindowError(
                f"a window of {size} items every {step} items is none",
                hint="both have to be at least 1",
            )
        return SlidingWindow(size, step)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """For each item, those not more than `span` older (seconds) that came before it, and itself."""

    span: Span

    def bound(self, parameters: Mapping[str, Any]) -> "TimeWindow":
        """Return the window with its parameters filled in."""
        span = _named(self.span, parameters)
        seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
        if not seconds >= 0:
            raise BadWindowError(f"a window cannot last {seconds} seconds", hint="at least 0")
        return TimeWindow(seconds)


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
class Windows:
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

    def only(self, first: int, stop: int) -> "Windows":
        """Return some of the windows."""
        return Windows(self.items, self.starts[first:stop], self.stops[first:stop])


def _named(value: Any, parameters: Mapping[str, Any]) -> Any:
    return parameters[value] if isinstance(value, str) else value


def ticks(span_seconds: float, ordering: str | None) -> int:
    """Return a span in the unit of the ordering column: microseconds of a TIMESTAMP, else ones."""
    return (
        round(span_seconds * 1_000_000)
        if (ordering or "").startswith("timestamp")
        else round(span_seconds)
    )


def time_starts(times: Numbers, span: int) -> npt.NDArray[np.int64]:
    """Return where each item's time window begins; times have to be in order."""
    return np.searchsorted(times, times - span, side="left").astype(np.int64)
