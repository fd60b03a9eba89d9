"""Streams as the thesis' generator makes them: Poisson arrivals, disorder, congestion, bursts.

A stream of n tuples has the keys 0, 0, 1, 1 … (multiplicity 2), out of order by about its
scrambling factor. Nothing is caught up with after a congestion: from then on the stream is behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from penstock.qos.joins.hindsight import Keys, dependent_factor, multiplicity, scrambling_factor

Times = npt.NDArray[np.float64]
RATE = 50.0  # tuples a second: 20 ms apart
MULTIPLICITY = 2
MOST_SCRAMBLED, MOST_DEPENDENT = 500, 300  # SF and DSF are drawn up to there
NO_KEYS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a stream comes so many times as fast."""

    begins: float
    ends: float
    times: float


@dataclass(frozen=True, slots=True, eq=False)
class KeyedStream:
    """The tuples of a stream in order of arrival; `others` is another column of them.

    `spans` say when it came faster or slower than at its `rate`.
    """

    keys: Keys
    times: Times
    others: Keys = field(default_factory=lambda: NO_KEYS)
    rate: float = RATE
    spans: tuple[Span, ...] = ()

    @property
    def factor(self) -> int:
        """Return its scrambling factor."""
        return scrambling_factor(self.keys)

    @property
    def multiplicity(self) -> int:
        """Return how often a key comes at most."""
        return multiplicity(self.keys)

    @property
    def dependent(self) -> int:
        """Return DSF from its keys to its other column."""
        return dependent_factor(self.keys, self.others)

    def rate_at(self, when: Times) -> Times:
        """Return the rate at some moments."""
        found = np.full(len(when), self.rate)
        for span in self.spans:
            found[(when >= span.begins) & (when < span.ends)] *= span.times
        return found

    def came(self, when: Times) -> Keys:
        """Return how many tuples had come by some moments."""
        return np.searchsorted(self.times, when, side="right")

    def by_others(self) -> "KeyedStream":
        """Return the same tuples, to be joined by their other column."""
        return KeyedStream(self.others, self.times, self.keys, self.rate, self.spans)


def generated(
    drawn: np.random.Generator, seconds: float, spans: Sequence[Span] = (), scrambled: int = 0
) -> KeyedStream:
    """Return a stream that is out of order by about so many tuples."""
    times = _arrivals(drawn, seconds, spans)
    place = np.arange(len(times))
    order = _scrambled(drawn, place, scrambled)
    others = place[_scrambled(drawn, place, int(drawn.integers(MOST_DEPENDENT + 1)))]
    keys = place // MULTIPLICITY
    return KeyedStream(keys[order], times, others[order] // MULTIPLICITY, spans=tuple(spans))


def _arrivals(drawn: np.random.Generator, seconds: float, spans: Sequence[Span]) -> Times:
    """Return the moments of a Poisson process whose rate changes."""
    edges = sorted({0.0, seconds, *(e for s in spans for e in (s.begins, s.ends) if e < seconds)})
    probe = KeyedStream(NO_KEYS, np.empty(0), spans=tuple(spans))
    expected = np.concatenate(
        [[0.0], np.cumsum(probe.rate_at(np.array(edges[:-1])) * np.diff(edges))]
    )
    steps = np.cumsum(drawn.exponential(size=int(expected[-1] * 1.5) + 50))
    times: Times = np.interp(steps[steps < expected[-1]], expected, edges)
    return times


def _scrambled(drawn: np.random.Generator, place: Keys, far: int) -> Keys:
    return np.argsort(place + drawn.random(len(place)) * far, kind="stable")
