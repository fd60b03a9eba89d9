"""Sizes: what runs of a unit took, by how many tuples they had.

A run costs something before its first tuple, and a machine that has had little to do compiles when
much comes. So what a tuple costs depends on the run it is in, and small runs tell little of large
ones. Kept are the last few runs of each size, sizes being apart by a factor of two.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

KEPT = 0.5  # of what older runs of a size told, with each new one
OLD_SECONDS = 120.0  # what was seen so long ago counts only where nothing newer is known


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

        A smaller run never takes longer than a larger one. What is beyond the largest that was
        seen grows with its root: between runs that cost all by themselves and such that do not.
        """
        points = self._points()
        if not points:
            return 0.0
        place = bisect_left([x for x, _ in points], rows)
        if place == 0:
            return points[0][1]
        if place == len(points):
            return points[-1][1] * math.sqrt(rows / points[-1][0])
        (x0, y0), (x1, y1) = points[place - 1], points[place]
        return y0 + (y1 - y0) * (rows - x0) / (x1 - x0)

    def rows(self, seconds: float) -> float:
        """Return how many tuples a run may have that is to take so long, 0 where none is known.

        Beyond the largest run that was seen a tuple is taken to cost what it does there: who
        believed more would take too many.
        """
        points = self._points()
        if not points or seconds < points[0][1]:
            return 0.0
        for (x0, y0), (x1, y1) in pairwise(points):
            if seconds < y1:
                return x0 + (x1 - x0) * (seconds - y0) / (y1 - y0)
        x, y = points[-1]
        return x * seconds / y if y > 0 else math.inf

    def cost(self, rows: float) -> float:
        """Return what a tuple costs in a run of so many."""
        many = max(1.0, rows)
        return self.seconds(many) / many

    def _points(self) -> list[tuple[float, float]]:
        """Return tuples and seconds of mean runs, none longer than a larger one."""
        found: list[tuple[float, float]] = []
        least = float("inf")
        for place in sorted(self.known, reverse=True):
            each = self.known[place]
            least = min(least, each.seconds / each.runs)
            found.append((each.rows / each.runs, least))
        return found[::-1]
