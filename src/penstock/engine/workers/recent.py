"""The latest items of a flow, some of them, to measure with: buffers may have let go of theirs."""

import math
from collections import deque
from dataclasses import dataclass, field

import pyarrow as pa

MOST_BYTES = 16 << 20  # some hundredths of a second of an FFT
ENOUGH = 64  # items, after which many are copied from time to time only
EVERY_SECONDS = 5.0
FEW = 8  # items of every run in between, so that the newest tell what comes now
MOST_PARTS = 256


@dataclass(slots=True)
class Recent:
    """Copies of items, so that the trains they came in can go; `at` is when many were copied."""

    parts: deque[tuple[pa.Table, int]] = field(default_factory=deque)
    at: float = -math.inf

    @property
    def table(self) -> pa.Table | None:
        """Return the items, the newest last, or None where none came."""
        tables = [table for table, _ in tuple(self.parts)]
        return pa.concat_tables(tables) if tables else None

    def see(self, table: pa.Table, now: float) -> None:
        """Keep the last of these items; the older ones stay while there is room."""
        if not table.num_rows:
            return
        if self._has_enough() and now - self.at < EVERY_SECONDS:
            latest = _last(table.slice(max(0, table.num_rows - FEW)))
        else:
            latest, self.at = _last(table), now
        copy = _copied(latest)
        self.parts.append((copy, copy.nbytes))
        size = sum(bytes_ for _, bytes_ in self.parts)
        while size - self.parts[0][1] >= MOST_BYTES // 2 or len(self.parts) > MOST_PARTS:
            size -= self.parts.popleft()[1]

    def _has_enough(self) -> bool:
        """Say whether more would say no more: many items, or about as many as there is room for."""
        rows = sum(each.num_rows for each, _ in self.parts)
        size = sum(bytes_ for _, bytes_ in self.parts)
        return bool(rows >= ENOUGH or 4 * size >= MOST_BYTES)


def _last(table: pa.Table) -> pa.Table:
    rows = max(1, MOST_BYTES // 2 * table.num_rows // max(1, table.nbytes))
    return table.slice(max(0, table.num_rows - rows))


def _copied(table: pa.Table) -> pa.Table:
    """Return the rows in memory of their own: arrays put together are copied, and these alone."""
    columns = [
        pa.concat_arrays([*column.chunks, pa.array([], column.type)]) for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)
