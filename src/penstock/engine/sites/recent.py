"""The latest items of a flow, some of them, to measure with: buffers may have let go of theirs."""

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

MOST_BYTES = 16 << 20  # some hundredths of a second of an FFT
ENOUGH = 64  # items, after which they are looked at from time to time only
EVERY_SECONDS = 5.0


@dataclass(slots=True)
class Recent:
    """Copies of items, so that the trains they came in can go."""

    table: pa.Table | None = None
    at: float = -math.inf

    def see(self, table: pa.Table, now: float) -> None:
        """Keep the last of these items; the older ones stay while there is room."""
        has_enough = self.table is not None and self.table.num_rows >= ENOUGH
        if not table.num_rows or (has_enough and now - self.at < EVERY_SECONDS):
            return
        latest = _last(table)
        if self.table is not None:
            latest = _last(pa.concat_tables([self.table, latest]))
        self.table, self.at = latest.take(pa.array(np.arange(latest.num_rows))), now


def _last(table: pa.Table) -> pa.Table:
    rows = max(1, MOST_BYTES * table.num_rows // max(1, table.nbytes))
    return table.slice(max(0, table.num_rows - rows))
