"""Arrivals: when a stream's tuples come; seeded, so that every run has the same."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.errors import BadOptionError

Times = npt.NDArray[np.float64]

TICK_SECONDS = 0.01  # tuples of one tick come as one train: far below any latency of interest


@dataclass(frozen=True, slots=True)
class Arrival:
    """Tuples that come together: how many, and the times of the first and the last."""

    rows: int
    first: float
    last: float


def constant(rate: float, seconds: float) -> Times:
    """Return tuples at equal distances."""
    count = _count(rate, seconds)
    return (np.arange(count, dtype=np.float64) + 0.5) / np.float64(rate)


def poisson(rate: float, seconds: float, seed: int) -> Times:
    """Return tuples that come independently of each other."""
    drawn = np.random.default_rng(seed)
    return np.sort(drawn.uniform(0.0, seconds, drawn.poisson(_count(rate, seconds))))


def bursty(
    rate: float, seconds: float, seed: int, *, factor: float = 5.0, burst: float = 1.0
) -> Times:
    """Return Poisson bursts of about `burst` seconds at `factor` times the rate, and silence.

    The silences are as long as the mean rate asks for.
    """
    if not factor > 1:
        raise BadOptionError(f"factor {factor} must be above 1", hint="1 would be Poisson")
    drawn = np.random.default_rng(seed)
    found, at = [], 0.0
    while at < seconds:
        length = drawn.exponential(burst)
        count = drawn.poisson(_count(rate, 1.0) * factor * length)
        found.append(at + np.sort(drawn.uniform(0.0, length, count)))
        at += length + drawn.exponential(burst * (factor - 1))
    times = np.concatenate(found)
    return times[times < seconds]


def b_model(rate: float, seconds: float, seed: int, *, bias: float) -> Times:
    """Return self-similar traffic (Wang et al.; TIME E4.7).

    The tuples of an interval go to its halves by `bias` and the rest, at random which, down to a
    tick. 0.5 is constant, real traffic has 0.6 to 0.8.
    """
    if not 0.5 <= bias < 1:  # noqa: PLR2004  (a half is no bias)
        raise BadOptionError(f"bias {bias} must be from 0.5 to below 1")
    drawn = np.random.default_rng(seed)
    shares = np.ones(1)
    for _ in range(max(1, math.ceil(math.log2(seconds / TICK_SECONDS)))):
        left = np.where(drawn.random(len(shares)) < 0.5, bias, 1 - bias)  # noqa: PLR2004
        shares = np.stack([shares * left, shares * (1 - left)], axis=1).ravel()
    total = _count(rate, seconds)
    ends = np.floor(np.cumsum(shares) * total + 1e-6)
    counts = np.diff(ends, prepend=0.0).astype(np.int64)
    width = seconds / len(shares)
    places = np.repeat(np.arange(len(shares)), counts)
    return np.sort((places + drawn.random(len(places))) * width)


def trains(times: Times, tick: float = TICK_SECONDS) -> list[Arrival]:
    """Return the tuples as trains, one for each tick in which any come."""
    if not len(times):
        return []
    ticks = np.floor(times / tick)
    starts = np.flatnonzero(np.diff(ticks, prepend=ticks[0] - 1))
    ends = np.append(starts[1:], len(times))
    return [
        Arrival(int(end - start), float(times[start]), float(times[end - 1]))
        for start, end in zip(starts, ends, strict=True)
    ]


def rows_of(arrivals: Iterable[Arrival]) -> int:
    """Return how many tuples come."""
    return sum(each.rows for each in arrivals)


def mean_rate(arrivals: Sequence[Arrival]) -> float:
    """Return the tuples a second, over the time in which they come."""
    span = arrivals[-1].last - arrivals[0].first if arrivals else 0.0
    return rows_of(arrivals) / span if span > 0 else 1.0


def _count(rate: float, seconds: float) -> int:
    if not (0 < rate < math.inf and 0 < seconds < math.inf):
        raise BadOptionError(f"rate {rate} and {seconds} seconds must be above zero and finite")
    return round(rate * seconds)
