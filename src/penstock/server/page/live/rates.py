"""What units do a second, from their counters in the last samples."""

from collections import deque
from collections.abc import Mapping

from penstock.runtime.views.view import Row
from penstock.server.page.live.sample import Table

SECONDS = 10.0  # as the rates of streams and queries in `system`


class Rates:
    """Remembers counters for some seconds."""

    def __init__(self) -> None:
        """Begin with none."""
        self._before: deque[tuple[float, Table]] = deque()

    def of(self, at: float, units: Table, slots: int) -> dict[str, Row]:
        """Return the units with rows a second, and the share of the slots' time at work."""
        while self._before and self._before[0][0] < at - SECONDS:
            self._before.popleft()
        began, before = self._before[0] if self._before else (at, {})
        self._before.append((at, units))
        return {
            name: {**row, **_rates(row, before.get(name), at - began, slots)}
            for name, row in units.items()
        }


def _rates(now: Row, before: Mapping[str, float] | None, seconds: float, slots: int) -> Row:
    if before is None or seconds <= 0 or now["runs"] < before["runs"]:  # made anew
        return {"in_per_s": 0.0, "out_per_s": 0.0, "busy": 0.0}
    return {
        "in_per_s": round((now["rows_in"] - before["rows_in"]) / seconds, 1),
        "out_per_s": round((now["rows_out"] - before["rows_out"]) / seconds, 1),
        "busy": round((now["busy_s"] - before["busy_s"]) / seconds / max(slots, 1), 4),
    }
