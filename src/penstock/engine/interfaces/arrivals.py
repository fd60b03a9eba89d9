"""When the n-th tuple of a generated stream arrives, in microseconds from its start.

Each profile is a function of its seed and of n alone, found through blocks of time, so that any
cut into trains gives the same times and none needs those before it. RandomState, not Generator:
its streams are frozen, so that a new numpy does not change a stream that is half read.

The b-model: M. Wang, T. Madhyastha, N. H. Chan, S. Papadimitriou, C. Faloutsos, Data Mining Meets
Performance Evaluation: Fast Algorithms for Modeling Bursty Traffic, ICDE 2002; used in wuji.md,
experiment E4.7.
"""

import threading
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]
Reals = NDArray[np.float64]

SECOND = 1_000_000  # microseconds
BLOCK_ROWS = 1024  # tuples expected in a block: some 10 µs to make, 8 kB to keep
GROUP_BLOCKS = 1024  # blocks whose tuples are counted as one: a million tuples
DRAWN_GROUPS = 1024  # groups counted at once: a year at 1,000 a second takes 31 draws
KEPT_BLOCKS = 64
ROUNDING = 64  # tuples by which a float may miss: 10 million a second after 30 years
SPLITS = 10  # levels of the b-model: bursts on scales from UNIT_SECONDS to 1,024 times that
UNIT_SECONDS = 1 / 16


class Arrivals(Protocol):
    """Arrival times that never go back."""

    def times(self, first: int, count: int) -> Times:
        """Return the times of `count` tuples from number `first` on."""
        ...

    def due(self, micros: int) -> int:
        """Return how many tuples arrive up to and at that time."""
        ...


@dataclass(frozen=True, slots=True)
class BlockShape:
    """One block's growth: after `seconds[i]` of it, `volume[i]` tuples have arrived."""

    seconds: Reals
    volume: Reals


class ArrivalCurve:
    """Arrivals along a growing line made of blocks of equal length and volume.

    Tuple n arrives where the line reaches n, so the mean rate is kept exactly.
    """

    def __init__(self, seconds: float, volume: float, shape: Callable[[int], BlockShape]) -> None:
        """Take a block's length and volume, and the function from its number to its shape."""
        self._seconds = seconds
        self._volume = volume
        self._shape = lru_cache(KEPT_BLOCKS)(shape)

    def times(self, first: int, count: int) -> Times:
        numbers = np.arange(first, first + count, dtype=np.int64)
        blocks = np.floor_divide(numbers, self._volume).astype(np.int64)
        inside = np.maximum(numbers - blocks * self._volume, 0.0)
        seconds = np.empty(count)
        for block in np.unique(blocks):
            here = blocks == block
            shape = self._shape(int(block))
            seconds[here] = np.interp(inside[here], shape.volume, shape.seconds)
        return np.floor((blocks * self._seconds + seconds) * SECOND).astype(np.int64)

    def due(self, micros: int) -> int:
        if micros < 0:
            return 0
        block, seconds = divmod((micros + 1) / SECOND, self._seconds)
        shape = self._shape(int(block))
        guess = int(block * self._volume + np.interp(seconds, shape.seconds, shape.volume))
        low = max(0, guess - ROUNDING)
        return low + int(np.searchsorted(self.times(low, 2 * ROUNDING), micros, side="right"))


def constant(rate: float) -> Arrivals:
    """Return arrivals at equal distances."""
    seconds = BLOCK_ROWS / rate
    shape = BlockShape(np.array([0.0, seconds]), np.array([0.0, float(BLOCK_ROWS)]))
    return ArrivalCurve(seconds, BLOCK_ROWS, lambda _: shape)


def burst(rate: float, burst_rate: float, every: float, length: float) -> Arrivals:
    """Return arrivals at `rate`, and at `burst_rate` for the last `length` of `every` seconds."""
    calm = (every - length) * rate
    volume = calm + length * burst_rate
    shape = BlockShape(np.array([0.0, every - length, every]), np.array([0.0, calm, volume]))
    return ArrivalCurve(every, volume, lambda _: shape)


def bmodel(rate: float, bias: float, seed: int) -> Arrivals:
    """Return self-similar arrivals: each half of an interval gets the share b or 1 − b."""
    units = 2**SPLITS
    seconds = units * UNIT_SECONDS
    edges = np.linspace(0.0, seconds, units + 1)

    def shape(block: int) -> BlockShape:
        shares = np.ones(1)
        random = _random(seed, block, 0)
        for _ in range(SPLITS):
            left = np.where(random.random_sample(len(shares)) < 0.5, bias, 1 - bias)  # noqa: PLR2004
            shares = np.stack([shares * left, shares * (1 - left)], axis=1).ravel()
        volume = np.concatenate([[0.0], np.cumsum(shares)]) * rate * seconds
        return BlockShape(edges, volume)

    return ArrivalCurve(seconds, rate * seconds, shape)


@dataclass
class Poisson:
    """Arrivals with independent exponential gaps.

    Drawn as a Poisson count for each block of time and uniform times inside it, which is the same
    process and, unlike a sum of gaps, can be entered anywhere.
    """

    rate: float
    seed: int
    _ends: list[int] = field(default_factory=list)  # tuples up to the end of each group of blocks

    def __post_init__(self) -> None:
        """Fix the blocks' length."""
        self._lock = threading.Lock()  # offering and reading may be two threads
        self._span = max(1, round(BLOCK_ROWS / self.rate * SECOND))
        self._counts = lru_cache(KEPT_BLOCKS)(self._draw_counts)
        self._block = lru_cache(KEPT_BLOCKS)(self._draw_block)

    def times(self, first: int, count: int) -> Times:
        block, skip = self._locate(first)
        parts: list[Times] = []
        wanted = skip + count
        while wanted > 0:
            parts.append(self._block(block)[:wanted])
            wanted -= len(parts[-1])
            block += 1
        return np.concatenate([*parts, np.empty(0, np.int64)])[skip:]

    def due(self, micros: int) -> int:
        if micros < 0:
            return 0
        block = micros // self._span
        inside = np.searchsorted(self._block(block), micros, side="right")
        return self._before(block) + int(inside)

    def _locate(self, number: int) -> tuple[int, int]:
        """Return the block of a tuple, and how many of the block are before it."""
        with self._lock:
            while not self._ends or self._ends[-1] <= number:
                self._add_groups()
        group = bisect_right(self._ends, number)
        rest = number - (self._ends[group - 1] if group else 0)
        ends = np.cumsum(self._counts(group))
        at = int(np.searchsorted(ends, rest, side="right"))
        return group * GROUP_BLOCKS + at, rest - (int(ends[at - 1]) if at else 0)

    def _before(self, block: int) -> int:
        group, at = divmod(block, GROUP_BLOCKS)
        inside = int(self._counts(group)[:at].sum())
        return (self._ends[group - 1] if group else 0) + inside

    def _add_groups(self) -> None:
        mean = self.rate * self._span / SECOND * GROUP_BLOCKS
        totals = _random(self.seed, len(self._ends), 1).poisson(mean, DRAWN_GROUPS)
        before = self._ends[-1] if self._ends else 0
        self._ends.extend((before + np.cumsum(totals)).tolist())

    def _draw_counts(self, group: int) -> Times:
        """Return how many tuples each block of a group has, given how many the group has."""
        with self._lock:
            while len(self._ends) <= group:
                self._add_groups()
        total = self._ends[group] - (self._ends[group - 1] if group else 0)
        shares = np.full(GROUP_BLOCKS, 1 / GROUP_BLOCKS)
        return _random(self.seed, group, 4).multinomial(total, shares).astype(np.int64)

    def _draw_block(self, block: int) -> Times:
        group, at = divmod(block, GROUP_BLOCKS)
        count = int(self._counts(group)[at])
        inside = np.sort(_random(self.seed, block, 2).random_sample(count))
        return (block * self._span + np.floor(inside * self._span)).astype(np.int64)


def uniforms(seed: int, first: int, count: int) -> Reals:
    """Return one number in [0, 1) for each tuple, from its number alone (splitmix64)."""
    state = np.arange(first, first + count, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state += _random(seed, 0, 3).randint(0, 2**63, size=1, dtype=np.uint64)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _random(seed: int, block: int, use: int) -> np.random.RandomState:
    """Return the randomness of one block; `use` keeps different draws apart."""
    words = [use, seed & 0xFFFFFFFF, seed >> 32, block & 0xFFFFFFFF, block >> 32]
    return np.random.RandomState(words)
