"""Records: what runs have shown of an operator or a unit, the older the less it counts.

Sums are kept, not averages: the cost of a tuple is all seconds over all tuples, so that many small
trains count as little as they are. All sums lose half of their weight every half life.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from penstock.schedule.costs.observation import HALF_LIFE_SECONDS, UNMEASURED, Average, is_figure

RUNS_FOR_A_LINE = 4.0  # fewer runs tell no fixed cost apart from that of the tuples


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Decayed sums over runs, and how many runs there ever were.

    `squares` are those of the tuples that came in, `products` tuples times seconds.
    """

    runs: float = 0.0
    rows_in: float = 0.0
    rows_out: float = 0.0
    seconds: float = 0.0
    squares: float = 0.0
    products: float = 0.0
    square_seconds: float = 0.0
    at: float = 0.0
    ever: int = 0

    def add(self, rows_in: float, rows_out: float, seconds: float, now: float) -> "RunRecord":
        """Return the record with one run more; what is no figure changes nothing."""
        if not all(map(is_figure, (rows_in, rows_out, seconds))):
            return self
        old = self.decayed(now)
        return RunRecord(
            old.runs + 1,
            old.rows_in + rows_in,
            old.rows_out + rows_out,
            old.seconds + seconds,
            old.squares + rows_in**2,
            old.products + rows_in * seconds,
            old.square_seconds + seconds**2,
            old.at,
            old.ever + 1,
        )

    def spent(self, seconds: float) -> "RunRecord":
        """Return the record with time that was spent beside the runs, for their tuples."""
        return replace(self, seconds=self.seconds + seconds) if is_figure(seconds) else self

    def decayed(self, now: float, half_life: float = HALF_LIFE_SECONDS) -> "RunRecord":
        """Return the record as it weighs now."""
        kept = 0.5 ** (max(0.0, now - self.at) / half_life)
        return RunRecord(
            self.runs * kept,
            self.rows_in * kept,
            self.rows_out * kept,
            self.seconds * kept,
            self.squares * kept,
            self.products * kept,
            self.square_seconds * kept,
            max(now, self.at),
            self.ever,
        )

    @property
    def cost(self) -> Average:
        """Return the seconds of a tuple that comes in."""
        return self._over(self.seconds)

    @property
    def selectivity(self) -> Average:
        """Return the tuples that come out for one."""
        return self._over(self.rows_out)

    @property
    def error(self) -> float:
        """Return the relative standard error of the cost, infinite where nothing tells it.

        The estimator of a ratio: what is left of each run's seconds after its tuples' cost.
        """
        if self.runs <= 1 or self.seconds <= 0 or self.rows_in <= 0:
            return math.inf
        cost = self.seconds / self.rows_in
        left = self.square_seconds - 2 * cost * self.products + cost**2 * self.squares
        return math.sqrt(max(0.0, left) * self.runs / (self.runs - 1)) / self.seconds

    @property
    def run_seconds(self) -> float:
        """Return what a run costs whatever it takes: where the line through the runs begins.

        0 where runs are too few or too much alike to tell.
        """
        spread = self.runs * self.squares - self.rows_in**2
        if self.runs < RUNS_FOR_A_LINE or spread <= 1e-6 * self.rows_in**2:
            return 0.0
        slope = (self.runs * self.products - self.rows_in * self.seconds) / spread
        return min(max(0.0, self.seconds - slope * self.rows_in), self.seconds) / self.runs

    def kept(self) -> list[float]:
        """Return it for a checkpoint."""
        return [getattr(self, each.name) for each in fields(self)]

    @classmethod
    def back(cls, kept: Sequence[float]) -> "RunRecord":
        """Return what a checkpoint kept; what cannot be one begins anew."""
        if len(kept) != len(fields(cls)) or not all(map(is_figure, kept)):
            return cls()
        *sums, at, ever = kept
        runs, rows_in, rows_out, seconds, squares, products, square_seconds = sums
        return cls(
            runs,
            rows_in,
            rows_out,
            seconds,
            squares,
            products,
            square_seconds,
            at,
            int(ever),
        )

    def _over(self, total: float) -> Average:
        if self.rows_in <= 0:
            return UNMEASURED
        return Average(total / self.rows_in, self.runs, self.at)


@dataclass(frozen=True, slots=True)
class Passed:
    """What was written into a buffer: decayed trains, tuples and bytes, and since when."""

    trains: float = 0.0
    rows: float = 0.0
    size: float = 0.0
    since: float = math.nan
    at: float = 0.0

    def add(self, rows: float, size: float, now: float) -> "Passed":
        """Return it with one train more."""
        kept = 0.5 ** (max(0.0, now - self.at) / HALF_LIFE_SECONDS)
        since = now if math.isnan(self.since) else self.since
        return Passed(
            self.trains * kept + 1, self.rows * kept + rows, self.size * kept + size, since, now
        )

    def rate(self, now: float) -> Average:
        """Return the tuples a second, of the time since the first came."""
        if math.isnan(self.since) or now <= self.since:
            return UNMEASURED
        kept = 0.5 ** (max(0.0, now - self.at) / HALF_LIFE_SECONDS)
        forgotten = 0.5 ** ((now - self.since) / HALF_LIFE_SECONDS)
        seen = HALF_LIFE_SECONDS / math.log(2) * (1 - forgotten)
        return Average(self.rows * kept / seen, self.trains * kept, now)

    @property
    def tuple_bytes(self) -> Average:
        """Return the memory of a tuple."""
        return Average(self.size / self.rows, self.trains, self.at) if self.rows > 0 else UNMEASURED


def kept_records(records: Mapping[str, RunRecord]) -> dict[str, list[float]]:
    """Return records for a checkpoint."""
    return {name: record.kept() for name, record in records.items()}
