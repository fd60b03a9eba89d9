"""Windows by brute force: the tuples that each window of a stream holds (decision 0006).

Tuples are dicts; `ts` is their time (aware, or microseconds since 1970), and the list's order is
that of arrival. Lengths of time are microseconds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

Row = dict[str, Any]
Condition = Callable[[list[Row]], bool | None]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Window(NamedTuple):
    """A window's bounds, and its tuples in order.

    Times are microseconds and the end is outside; tuple numbers count from 1 and the end is inside.
    """

    start: int
    end: int
    rows: list[Row]


@dataclass(frozen=True)
class WindowAssigner:
    """BEGIN, END, HOP (lower, upper) and UNTIL, on either axis."""

    begin: int
    end: int
    lower: int
    upper: int
    until: int | None = None

    def __post_init__(self) -> None:
        """Refuse what the decision gives no meaning."""
        if self.lower * self.upper < 0 or (self.lower < 0 and self.upper == 0):
            raise ValueError(f"{self} goes both ways")
        if self.lower == self.upper == 0 and self.until != self.end:
            raise ValueError(f"{self} never moves")

    @property
    def is_reverse(self) -> bool:
        return self.upper < 0

    def half_open(self) -> "WindowAssigner":
        """Return these bounds of tuple numbers with END outside."""
        beyond = 0 if self.is_reverse else 1  # going back, UNTIL is inside as it is
        until = None if self.until is None else self.until + beyond
        return WindowAssigner(self.begin, self.end + 1, self.lower, self.upper, until)

    def bounds(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield half-open bounds up to the last that may hold a tuple from `first` to `last`."""
        start, end = self.begin, self.end
        while start < end and self._lasts(start, end) and self._reaches(end, first, start, last):
            yield start, end
            if self._stands_still(end, last):
                return
            start, end = start + self.lower, end + self.upper

    def _lasts(self, start: int, end: int) -> bool:
        if self.until is None:
            return True
        if self.is_reverse:
            return end > self.until
        return end <= self.until if self.lower == 0 else start < self.until

    def _reaches(self, end: int, first: int, start: int, last: int) -> bool:
        return end > first if self.is_reverse else start <= last

    def _stands_still(self, end: int, last: int) -> bool:
        """Say whether all later windows would hold what this one does: it is the last."""
        return self.lower == 0 and (self.upper == 0 or (self.upper > 0 and end > last))


def micros(at: datetime | int) -> int:
    """Return a time in microseconds since 1970."""
    return at if isinstance(at, int) else (at - EPOCH) // MICROSECOND


def moment(at: int) -> datetime:
    """Return the time that is so many microseconds after 1970."""
    return EPOCH + at * MICROSECOND


def in_order(rows: list[Row]) -> list[Row]:
    """Return the tuples by time, ties by arrival; tuples without a time by arrival."""
    return sorted(rows, key=lambda row: micros(row.get("ts", 0)))


def partitions(rows: list[Row], keys: tuple[str, ...]) -> list[list[Row]]:
    """Return the tuples of each key, NULL being a key as any other, each in order."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in in_order(rows):
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return list(found.values())


def over_times(rows: list[Row], assigner: WindowAssigner) -> list[Window]:
    """BEGIN END HOP UNTIL on times."""
    return _filled([(micros(row["ts"]), row) for row in in_order(rows)], assigner)


def over_numbers(rows: list[Row], assigner: WindowAssigner) -> list[Window]:
    """BEGIN END HOP UNTIL on tuple numbers."""
    found = _filled(list(enumerate(in_order(rows), 1)), assigner.half_open())
    return [Window(start, end - 1, held) for start, end, held in found]


def spans(rows: list[Row], size: int, slide: int) -> list[Window]:
    """RANGE size SLIDE slide."""
    if not rows:
        return []
    begin = (min(micros(row["ts"]) for row in rows) - size) // slide * slide
    return over_times(rows, WindowAssigner(begin, begin + size, slide, slide))


def landmarks(rows: list[Row], start: int, every: int) -> list[Window]:
    """LANDMARK FROM start EVERY every, on times."""
    return over_times(rows, WindowAssigner(start, start + every, 0, every))


def numbered_landmarks(rows: list[Row], start: int, every: int) -> list[Window]:
    """LANDMARK FROM start EVERY every, on tuple numbers: `every` tuples, twice as many, …"""
    return over_numbers(rows, WindowAssigner(start, start + every - 1, 0, every))


def counts(rows: list[Row], size: int, slide: int, keys: tuple[str, ...] = ()) -> list[Window]:
    """[PARTITION BY keys] ROWS size SLIDE slide."""
    assigner = WindowAssigner(1, size, slide, slide)
    return [window for part in partitions(rows, keys) for window in over_numbers(part, assigner)]


def sessions(rows: list[Row], gap: int, keys: tuple[str, ...] = ()) -> list[Window]:
    """SESSION GAP gap, in each group; neighbours just the gap apart belong together."""
    found = []
    for part in partitions(rows, keys):
        held = part[:1]
        for row in part[1:]:
            if micros(row["ts"]) - micros(held[-1]["ts"]) > gap:
                found.append(_session(held, gap))
                held = []
            held = [*held, row]
        found.append(_session(held, gap))
    return found


def when(rows: list[Row], holds: Condition, keys: tuple[str, ...] = ()) -> list[Window]:
    """WHEN condition, in each group; the bounds are the times of the first and last tuple."""
    found = []
    for part in partitions(rows, keys):
        held: list[Row] = []
        for row in part:
            held = [*held, row]
            if holds(held):
                found.append(_semantic(held))
                held = []
        if held:
            found.append(_semantic(held))
    return found


def _filled(placed: list[tuple[int, Row]], assigner: WindowAssigner) -> list[Window]:
    if not placed:
        return []
    found = []
    for start, end in assigner.bounds(placed[0][0], placed[-1][0]):
        held = [row for place, row in placed if start <= place < end]
        if held:
            found.append(Window(start, end, held))
    return found


def _session(held: list[Row], gap: int) -> Window:
    return Window(micros(held[0]["ts"]), micros(held[-1]["ts"]) + gap, held)


def _semantic(held: list[Row]) -> Window:
    return Window(micros(held[0]["ts"]), micros(held[-1]["ts"]), held)
