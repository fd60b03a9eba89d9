"""A meter: rows, rates and latencies of the recent past."""

from array import array
from collections import deque

import numpy as np

RECENT_SECONDS = 10.0
KEPT_LATENCIES = 4096  # enough for a p99 that rests on forty values


class Meter:
    """Counts what passes. One writer at a time; readers may look meanwhile.

    There is one for each query, so it takes room only for what it has seen: at most 16 kB of
    latencies, and what passed in the recent past.
    """

    __slots__ = ("_latencies", "_next", "_recent", "deliveries", "latency_seconds", "rows")

    def __init__(self) -> None:
        """Start at nothing."""
        self.rows = self.deliveries = 0
        self.latency_seconds = 0.0  # of all deliveries together
        self._recent: deque[tuple[float, int]] = deque(maxlen=KEPT_LATENCIES)
        self._latencies = array("f")
        self._next = 0  # whose place the next latency takes once all places are taken

    def passed(self, rows: int, now: float) -> None:
        """Count rows."""
        self.rows += rows
        while self._recent and self._recent[0][0] <= now - RECENT_SECONDS:
            self._recent.popleft()
        self._recent.append((now, rows))

    def delivered(self, rows: int, latency: float, now: float) -> None:
        """Count rows that took `latency` seconds from their arrival."""
        self.passed(rows, now)
        self.deliveries += 1
        self.latency_seconds += latency
        if len(self._latencies) < KEPT_LATENCIES:
            self._latencies.append(latency)
        else:
            self._latencies[self._next] = latency
            self._next = (self._next + 1) % KEPT_LATENCIES

    def rate(self, now: float) -> float:
        """Return the rows a second of the last seconds."""
        recent = [(at, rows) for at, rows in list(self._recent) if at > now - RECENT_SECONDS]
        if not recent:
            return 0.0
        return sum(rows for _, rows in recent) / max(1.0, now - recent[0][0])

    def latency(self, share: float) -> float | None:
        """Return the latency that this share of deliveries kept below, or None without any."""
        values = list(self._latencies)
        return float(np.quantile(values, share)) if values else None
