"""Curves of single queries and units over the last ten minutes, a point every twenty seconds: pure.

They are coarse so that those of a thousand queries are as large as all that is told of them now.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from penstock.runtime.views.view import Row
from penstock.server.page.live.sample import Table

EVERY_SECONDS = 20.0
MOST_POINTS = 31  # ten minutes and the point that they begin with

Pair = tuple[float, float] | None  # None where nothing was to be seen
Pairs = Mapping[str, Pair]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One moment: latencies (p50 and p99, ms) of queries, rows in a second and work of units."""

    at: float
    queries: Pairs
    units: Pairs


@dataclass(frozen=True, slots=True)
class Curves:
    """The moments of all points, and what each query and unit there is had at each of them."""

    at: tuple[float, ...] = ()
    queries: Mapping[str, tuple[Pair, ...]] = field(default_factory=dict)
    units: Mapping[str, tuple[Pair, ...]] = field(default_factory=dict)

    def due(self, at: float, queries: Table, units: Table) -> CurvePoint | None:
        """Return the point of now, or None where the last one is recent."""
        if self.at and 0 <= at - self.at[-1] < EVERY_SECONDS:
            return None
        return CurvePoint(round(at, 1), _pairs(queries, _latency), _pairs(units, _work))

    def with_point(self, point: CurvePoint) -> Self:
        """Return the curves with one point more; what is not there any more is forgotten."""
        size = len(self.at)
        return type(self)(
            (*self.at, point.at)[-MOST_POINTS:],
            _longer(self.queries, point.queries, size),
            _longer(self.units, point.units, size),
        )

    def told(self) -> dict[str, Any]:
        """Return what a newcomer is told."""
        return {"at": self.at, "queries": self.queries, "units": self.units}


def _pairs(table: Table, pair: Callable[[Row], Pair]) -> Pairs:
    return {name: pair(row) for name, row in table.items()}


def _latency(row: Row) -> Pair:
    middle, worst = row.get("p50_ms"), row.get("p99_ms")
    return None if middle is None or worst is None else (middle, worst)


def _work(row: Row) -> Pair:
    return row["in_per_s"], row["busy"]


def _longer(
    before: Mapping[str, tuple[Pair, ...]], now: Pairs, size: int
) -> dict[str, tuple[Pair, ...]]:
    nothing = (None,) * size
    return {name: (*before.get(name, nothing), pair)[-MOST_POINTS:] for name, pair in now.items()}
