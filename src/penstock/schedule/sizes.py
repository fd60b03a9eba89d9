"""Sizes: what runs of a unit took, by how many tuples they had.

A run costs something before its first tuple, and a machine that has had little to do compiles when
much comes. So what a tuple costs depends on the run it is in, and small runs tell little of large
ones. Kept are the last few runs of each size, sizes being apart by a factor of two.
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

KEPT = 0.5  # of what older runs of a size told, with each new one
OLD_SECONDS = 120.0  # what was seen so long ago counts only where nothing newer is known
FAR = 4.0  # times the largest run that was seen: nobody knows what is beyond


@dataclass(frozen=True, slots=True)
class Size:
    """Runs of about one size: decayed sums, and when the last one was."""

    runs: float
    rows: float
    seconds: float
    at: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """By the power of two of their tuples."""

    known: Mapping[int, Size] = field(default_factory=dict)

    def add(self, rows: int, seconds: float, now: float) -> "Sizes":
        """Return it with a run more; one without tuples tells nothing."""
        if rows <= 0:
            return self
        place = rows.bit_length()
        old = self.known.get(place, Size(0.0, 0.0, 0.0, now))
        new = Size(old.runs * KEPT + 1, old.rows * KEPT + rows, old.seconds * KEPT + seconds, now)
        fresh = {p: each for p, each in self.known.items() if now - each.at < OLD_SECONDS}
        return Sizes({**fresh, place: new})

    def seconds(self, rows: float) -> float:
        """Return what a run of so many tuples takes, 0 where nothing is known.

        A smaller run never takes longer than a larger one. Beyond the largest that was seen it
        grows as between the last two, and with only one it is taken not to: of what is not known,
        the best is believed until it is.
        """
        points = self._points()
        if not points:
            return 0.0
        place = bisect_left([x for x, _ in points], rows)
        if place == 0:
            return points[0][1]
        if place == len(points):
            return points[-1][1] + max(0.0, rows - points[-1][0]) * self._slope(points)
        (x0, y0), (x1, y1) = points[place - 1], points[place]
        return y0 + (y1 - y0) * (rows - x0) / (x1 - x0)

    @property
    def run(self) -> float:
        """Return what a run costs by itself: where the line from small to large ones begins."""
        points = self._points()
        if len(points) < 2:  # noqa: PLR2004  (a line needs two)
            return 0.0
        (x0, y0), (x1, y1) = points[0], points[-1]
        return max(0.0, y0 - x0 * (y1 - y0) / (x1 - x0))

    def cost(self, rows: float) -> float:
        """Return what a tuple costs in a run of so many."""
        many = max(1.0, rows)
        return self.seconds(many) / many

    def within(self, seconds: float) -> float:
        """Return how many tuples a run of so many seconds has at most, infinite if unknown.

        It grows step by step beyond what was seen.
        """
        points = self._points()
        if not points:
            return float("inf")
        low, high = 1.0, points[-1][0] * FAR
        if self.seconds(high) <= seconds:
            return high
        while high - low > 1:
            middle = (low + high) / 2
            low, high = (middle, high) if self.seconds(middle) <= seconds else (low, middle)
        return low

    def _points(self) -> list[tuple[float, float]]:
        """Return tuples and seconds of mean runs, none longer than a larger one."""
        found: list[tuple[float, float]] = []
        least = float("inf")
        for place in sorted(self.known, reverse=True):
            each = self.known[place]
            least = min(least, each.seconds / each.runs)
            found.append((each.rows / each.runs, least))
        return found[::-1]

    @staticmethod
    def _slope(points: list[tuple[float, float]]) -> float:
        if len(points) < 2:  # noqa: PLR2004  (a line needs two)
            return 0.0
        (x0, y0), (x1, y1) = points[-2:]
        return (y1 - y0) / (x1 - x0)
