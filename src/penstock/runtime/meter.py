"""A meter: rows, rates and latencies of the recent past."""

from collections import deque

import numpy as np

RECENT_SECONDS = 10.0
KEPT_LATENCIES = 4096  # enough for a p99 that rests on forty values


class Meter:
    """Counts what passes. One writer at a time; readers may look meanwhile."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.rows = 0
        self._recent: deque[tuple[float, int]] = deque(maxlen=KEPT_LATENCIES)
        self._latencies: deque[float] = deque(maxlen=KEPT_LATENCIES)

    def passed(self, rows: int, now: float) -> None:
        """Count rows."""
        self.rows += rows
        self._recent.append((now, rows))

    def delivered(self, rows: int, latency: float, now: float) -> None:
        """Count rows that took `latency` seconds from their arrival."""
        self.passed(rows, now)
        self._latencies.append(latency)

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
