"""Watching: looks at trains as they come, to tell what their streams are like.

However many streams there are, it takes a small share of the time: trains that come while that is
used up are counted and not looked at.
"""

import logging
import time
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engine.trains.rows import Rows
from penstock.model.definitions import StreamDefinition
from penstock.qos.monitor.stream import StreamMonitor

SHARE = 0.005  # of the time, for all streams together
FREE_SECONDS = 0.05  # that may be used at once, and at the beginning
MOST_ROWS = 10_000  # of a train: more tell little more
LOG = logging.getLogger("penstock")
KEYS = ("string", "tinyint", "smallint", "int", "bigint")


@dataclass(slots=True)
class Watching:
    """The monitors of streams; a stream's is touched by the worker that reads it alone.

    `counted` are the tuples that came, whether they were looked at or not.
    """

    monitors: dict[str, StreamMonitor] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    spent: float = 0.0
    began: float | None = None

    def take(self, name: str, definition: StreamDefinition, rows: Rows, now: float) -> None:
        """See a train that has been read, or count it."""
        if self.began is None:
            self.began = now
        self.counted[name] = self.counted.get(name, 0) + rows.count
        if self.spent > FREE_SECONDS + SHARE * (now - self.began):
            return
        start = time.perf_counter()
        monitor = self.monitors.get(name) or _new(definition)
        try:
            table = _some(monitor, rows)
            before = replace(monitor, tuples=self.counted[name] - table.num_rows)
            self.monitors[name] = before.add(table, now)
        except Exception:  # to look is no reason not to read
            LOG.exception("stream %s cannot be looked at, and is only counted", definition.name)
            self.monitors[name] = StreamMonitor(tuples=self.counted[name])
        self.spent += time.perf_counter() - start

    def forget(self, name: str) -> None:
        """Forget a stream that was dropped."""
        self.monitors.pop(name, None)
        self.counted.pop(name, None)

    def share(self, now: float) -> float:
        """Return the share of the time that it has taken."""
        return self.spent / (now - self.began) if self.began is not None and now > self.began else 0


def _new(definition: StreamDefinition) -> StreamMonitor:
    """Return the monitor of a stream: its event time, and its first column that may be a key."""
    time_column = definition.time_column
    keys = [c.name for c in definition.schema if c.type in KEYS and c.name != time_column]
    return StreamMonitor(time_column, keys[0] if keys else None)


def _some(monitor: StreamMonitor, rows: Rows) -> pa.Table:
    """Return the first tuples of a train, in the columns that are looked at."""
    wanted = [name for name in (monitor.time_column, monitor.key_column) if name is not None]
    if rows.table is not None:
        return rows.table.select(wanted).slice(0, MOST_ROWS) if wanted else rows.table.slice(0, 0)
    for path in rows.paths if wanted else ():
        file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
        batch = next(file.iter_batches(MOST_ROWS, columns=wanted), None)
        if batch is not None:
            return pa.Table.from_batches([batch])
    return pa.table({name: pa.array([], pa.int64()) for name in wanted})
