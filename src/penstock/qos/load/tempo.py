"""Tempo: how many tuples a stream has for each second of its own time.

How fast they are read says little once they wait: a source that is held back seems to slow down
just when there is most of it. Its own time does not.
"""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

SECOND = 1_000_000
KEPT = 0.8  # of what older trains told, with each train
REMEMBERED = 512  # trains, of which it is known how many tuples there were until when
GAP = 2 * SECOND  # a longer silence is none of the stream's pace

Curve = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, slots=True)
class TempoWindows:
    """Windows of one length, one after each hop, on a stream's own time in microseconds."""

    begin: int = 0
    span: int = SECOND
    hop: int = SECOND

    def around(self, first: int, last: int, most: int) -> list[int]:
        """Return where those begin that hold a time from the first to the last; at most so many."""
        low = (first - self.span - self.begin) // self.hop + 1
        high = (last - self.begin) // self.hop
        step = max(1, -(-(high - low + 1) // most))
        return [self.begin + number * self.hop for number in range(high, low - 1, -step)]


@dataclass(frozen=True, slots=True)
class Tempo:
    """Decayed sums of tuples, and of the microseconds that they took.

    `counted` are times of the stream and how many tuples there ever were until then, in order.
    """

    rows: float = 0.0
    micros: float = 0.0
    latest: int | None = None
    counted: tuple[tuple[int, int], ...] = ()

    def add(self, rows: int, first: int, last: int) -> "Tempo":
        """Return it with a train more, whose tuples are from the first to the last time."""
        if self.latest is None:
            return Tempo(float(rows), float(last - first), last, ((first, 0), (last, rows)))
        passed = min(max(0, last - self.latest), last - first + GAP)
        latest = max(last, self.latest)
        counted = (*self.counted[1 - REMEMBERED :], (latest, self.counted[-1][1] + rows))
        return Tempo(self.rows * KEPT + rows, self.micros * KEPT + passed, latest, counted)

    def before(self, time: int, span: int) -> float:
        """Return the tuples of a second in a span up to a time of the stream, 0 if unknown."""
        return max(0.0, self._until(time) - self._until(time - span)) / span * SECOND

    def _until(self, time: int) -> float:
        """Return how many tuples there were until a time, as if they came evenly in a train."""
        place = bisect_left(self.counted, (time, 0))
        if place == 0:
            return float(self.counted[0][1]) if self.counted else 0.0
        if place == len(self.counted):
            return float(self.counted[-1][1])
        (t0, n0), (t1, n1) = self.counted[place - 1 : place + 1]
        return n0 + (n1 - n0) * (time - t0) / (t1 - t0) if t1 > t0 else float(n1)

    def curve(self) -> Curve:
        """Return times, and how many tuples there ever were until then."""
        times, counts = zip(*self.counted, strict=True)
        return np.array(times, dtype=float), np.array(counts, dtype=float)

    @property
    def per_second(self) -> float:
        """Return the tuples of a second; 0 while no time has passed."""
        return self.rows / self.micros * SECOND if self.micros > 0 else 0.0
