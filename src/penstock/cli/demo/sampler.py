"""A readable sample of what queries deliver: now and then one row, and how many more there were."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

from penstock.cli.live_line import clock
from penstock.engine.sinks.sink import Delivery

EVERY_SECONDS = 1.5  # between two lines of one query
COLORS = (36, 33, 35, 32, 31, 34)  # ANSI: cyan, yellow, magenta, green, red, blue
NAME_WIDTH = 10


class RowSampler:
    """A tap that shows some rows; `total` counts all of them by query."""

    def __init__(self, show: Callable[[str], None], *, colored: bool) -> None:
        self._show, self._colored = show, colored
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._shown_at: dict[str, float] = {}
        self._unseen: Counter[str] = Counter()
        self.total: Counter[str] = Counter()

    def deliver(self, delivery: Delivery) -> None:
        """Count the rows, and show one of them if it is time."""
        name, rows = delivery.query, delivery.rows
        with self._lock:
            now = time.monotonic()
            self.total[name] += rows.num_rows
            if now - self._shown_at.get(name, 0.0) < EVERY_SECONDS:
                self._unseen[name] += rows.num_rows
                return
            more = self._unseen.pop(name, 0) + rows.num_rows - 1
            self._shown_at[name] = now
            color = COLORS[list(self._shown_at).index(name) % len(COLORS)]
            row = rows.slice(0, 1).to_pylist()[0]
            text = f"{name:{NAME_WIDTH}}"
            shown = f"\x1b[{color}m{text}\x1b[0m" if self._colored else text
            self._show(f"{clock(now - self._began)}  {shown}  {row_text(row)}{_and_more(more)}")


def row_text(row: dict[str, Any]) -> str:
    """Return a row's values on one line; the first tells the time, the others their names."""
    return "  ".join(f"{name} {_value_text(value)}" for name, value in row.items())


def _value_text(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{value:%H:%M:%S}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _and_more(rows: int) -> str:
    return f"  (+{rows:,})" if rows else ""
