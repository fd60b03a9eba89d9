"""Hops: a sequence of windows on one axis, W(n) = [begin + n * lower, end + n * upper).

The axis is event time in microseconds or tuple numbers. Every window with stated bounds is such
a sequence: tumbling, sliding, landmark, MavStream's generic window, forward and reverse
(docs/decisions/0006).
"""

import math
from dataclasses import dataclass
from typing import ClassVar

FAR = 2**62  # beyond any window's number


@dataclass(frozen=True, slots=True)
class WindowAssigner:
    """`count` windows from number 0 on, or without end; `endless` ones have all integers.

    Both hops have one sign. Where they differ, windows grow or shrink.
    """

    KIND: ClassVar[str] = "Hops"

    begin: int
    end: int
    lower: int
    upper: int
    count: int | None = None
    endless: bool = False

    @property
    def is_reverse(self) -> bool:
        """Say whether windows go back: they all close together."""
        return self.lower < 0 or self.upper < 0

    @property
    def is_steady(self) -> bool:
        """Say whether all windows have one size and move on."""
        return self.lower == self.upper and self.lower > 0

    @property
    def pane(self) -> int:
        """Return the longest span that every window is made of."""
        return math.gcd(self.end - self.begin, self.lower, self.upper)

    def start_of(self, number: int) -> int:
        """Return where the window begins."""
        return self.begin + number * self.lower

    def end_of(self, number: int) -> int:
        """Return where the window ends, itself outside."""
        return self.end + number * self.upper

    def first_from(self, at: int) -> int | None:
        """Return the first window that starts at or after a place; None where it is the first."""
        if self.lower <= 0:
            return None
        number = -((self.begin - at) // self.lower)
        return number if self.endless else max(0, number)

    def last_closed(self, watermark: int) -> int | None:
        """Return the last window that ends at or before the watermark, None before any."""
        if self.upper <= 0:  # all of them end with the first, or earlier
            return self._bounded(FAR) if watermark >= self.end else None
        return self._bounded((watermark - self.end) // self.upper)

    def first_holding(self, first_pane: int, last_pane: int) -> int:
        """Return the first window that may hold one of the panes."""
        if self.is_reverse:
            number = 0 if self.lower == 0 else -((last_pane - self.begin) // -self.lower)
        elif self.upper == 0:
            number = 0
        else:
            number = (first_pane - self.end) // self.upper + 1
        return number if self.endless else max(0, number)

    def last_holding(self, first_pane: int, last_pane: int) -> int | None:
        """Return the last window worth a row when nothing more comes, None where there is none.

        A landmark's windows would go on for ever: the first that holds everything is the last.
        """
        if self.is_reverse:
            number = -((first_pane - self.end) // -self.upper) - 1
        elif self.lower > 0:
            number = (last_pane - self.begin) // self.lower
        elif self.upper > 0:
            number = max(0, (last_pane - self.end) // self.upper + 1)
        else:
            number = 0
        return self._bounded(number)

    def numbers_sql(self, pane: str, first: int | None, last: int | None) -> tuple[str, str]:
        """Return SQL for the first and last window that hold a pane, within `first` and `last`."""
        first = first if self.endless else max(0, first or 0)
        low = [] if first is None else [f"{first}L"]
        last = min((each for each in (last, self.last) if each is not None), default=None)
        high = [] if last is None else [f"{last}L"]
        if self.is_reverse:
            if self.lower:
                low.append(f"-{_floor(f'{pane} - {self.begin}L', -self.lower)}")
            high.append(f"-{_floor(f'{pane} - {self.end}L', -self.upper)} - 1")
        else:
            if self.upper:
                low.append(f"{_floor(f'{pane} - {self.end}L', self.upper)} + 1")
            if self.lower:
                high.append(_floor(f"{pane} - {self.begin}L", self.lower))
        return _most("greatest", low), _most("least", high)

    def span_sql(self, at: str) -> str:
        """Return a condition on the places that any window can hold, or nothing."""
        bounds = []
        if not self.endless and self.lower >= 0:
            bounds.append(f"{at} >= {self.begin}L")
        if self.upper <= 0:
            bounds.append(f"{at} < {self.end}L")
        return " AND ".join(bounds)

    @property
    def last(self) -> int | None:
        """Return the last window that there is: by count, or because they shrink to nothing."""
        shrinking = self.lower - self.upper
        empty = None if shrinking <= 0 else -((self.begin - self.end) // shrinking) - 1
        counted = None if self.count is None else self.count - 1
        return min((each for each in (empty, counted) if each is not None), default=None)

    def is_over(self, next_number: int) -> bool:
        """Say whether no window is left from this number on."""
        return next_number > (FAR if self.last is None else self.last)

    def text(self) -> str:
        """Show everything that makes it this sequence."""
        many = "" if self.count is None else f", {self.count} of them"
        ends = "" if self.endless else f" from [{self.begin}, {self.end})"
        return f"hop ({self.lower}, {self.upper}){ends}{many}"

    def _bounded(self, number: int) -> int | None:
        """Return the number within the windows that there are, None where there is none so far."""
        found = number if self.last is None else min(number, self.last)
        return None if found < 0 and not self.endless else found


def spans(size: int, slide: int) -> WindowAssigner:
    """Return windows of one size that start at every multiple of the slide."""
    return WindowAssigner(0, size, slide, slide, endless=True)


def _floor(sql: str, by: int) -> str:
    """Return SQL for a whole division that rounds down, as Python's does."""
    return f"(({sql}) - pmod({sql}, {by}L)) div {by}L"


def _most(function: str, given: list[str]) -> str:
    return given[0] if len(given) == 1 else f"{function}({', '.join(given)})"
