"""A steady push of traffic, and when the rows that it brings about come.

Tuple number n has the time of the n-th tick, so a row's own time, or its window's end, says which
push it answers.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.beside import beside
from benchmarks.many.kinds import LANES, ROADS, TYPES

A_SECOND = 50
TICK = timedelta(seconds=1) / A_SECOND
START = datetime(2026, 1, 1, tzinfo=UTC)
PROBES = ("filter", "windows")
SETTLE_SECONDS = 5.0  # for the rows of what was pushed last


@dataclass(slots=True)
class Probes:
    """When tuple n was pushed, and when each probe's row for it came."""

    pushed: dict[int, float] = field(default_factory=dict)
    came: dict[tuple[str, int], float] = field(default_factory=dict)

    def note(self, probe: str, at: datetime) -> None:
        """Note that a probe's row is here, by its own time."""
        number = round((at.astimezone(UTC) - START) / TICK)
        self.came.setdefault((probe, number), time.time())

    def latencies(self) -> dict[str, list[tuple[float, float]]]:
        """Return, for each probe, when a tuple was pushed and its milliseconds, in order."""
        found: dict[str, list[tuple[float, float]]] = {probe: [] for probe in PROBES}
        for (probe, number), at in list(self.came.items()):
            if number in self.pushed:
                found[probe].append((self.pushed[number], 1000 * (at - self.pushed[number])))
        return {probe: sorted(each) for probe, each in found.items()}


def tuple_number(number: int) -> dict[str, Any]:
    """Return the traffic of one tick."""
    return {
        "ts": START + number * TICK,
        "car": f"c{number % 1_000:03d}",
        "road": number % ROADS,
        "lane": number % LANES,
        "type": TYPES[number % len(TYPES)],
        "mph": 10 + number % 320 / 4,
        "weight": 500 + number % 39_500,
    }


@contextmanager
def pushing(push: Callable[[dict[str, Any]], object], probes: Probes) -> Iterator[None]:
    """Push a tuple each tick, by an absolute plan, until the block is left."""

    def go(over: threading.Event) -> None:
        began, number = time.monotonic(), 0
        while not over.is_set():
            wait = began + number / A_SECOND - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            probes.pushed[number] = time.time()
            push(tuple_number(number))
            number += 1

    with beside(go):
        yield
