"""A meter: rows, rates, latencies and delays of the recent past."""

from collections import deque

from penstock.qos.monitor.durations import Durations

RECENT_SECONDS = 10.0
MOST_RECENT = 4096  # trains that the rate is made of


class Meter:
    """Counts what passes. One writer at a time; readers may look meanwhile.

    There is one for each query, so it takes room only for what it has seen. Latencies and delays
    weigh by rows (decision 0043 says what they are).
    """

    __slots__ = (
        "_recent",
        "delay_seconds",
        "delays",
        "latencies",
        "latency_seconds",
        "rows",
        "timed_rows",
    )

    def __init__(self) -> None:
        """Start at nothing."""
        self.rows = self.timed_rows = 0
        self.latency_seconds = self.delay_seconds = 0.0  # of all rows that were timed
        self.latencies, self.delays = Durations(), Durations()
        self._recent: deque[tuple[float, int]] = deque(maxlen=MOST_RECENT)

    def passed(self, rows: int, now: float) -> None:
        """Count rows."""
        self.rows += rows
        while self._recent and self._recent[0][0] <= now - RECENT_SECONDS:
            self._recent.popleft()
        self._recent.append((now, rows))

    def took(self, rows: int, latency: float, delay: float, now: float) -> None:
        """Count the seconds after which rows were delivered."""
        self.timed_rows += rows
        self.latency_seconds += rows * latency
        self.delay_seconds += rows * delay
        self.latencies.add(latency, rows, now)
        self.delays.add(delay, rows, now)

    def rate(self, now: float) -> float:
        """Return the rows a second of the last seconds."""
        recent = [(at, rows) for at, rows in list(self._recent) if at > now - RECENT_SECONDS]
        if not recent:
            return 0.0
        return sum(rows for _, rows in recent) / max(1.0, now - recent[0][0])
