"""How far sources are read ahead of those who read their trains."""

from collections.abc import Sequence

from penstock.engine.trains.buffers import Buffer, Train
from penstock.engine.trains.rows import SMALL_ROWS
from penstock.runtime.topology.topology import Topology

AHEAD_TRAINS = 12  # that a source may be ahead of its slowest reader; a run takes what waits
TINY_AHEAD = 64  # tiny trains are run together, so more of them may wait
AHEAD_ROWS = 2_000_000


def is_ahead(buffer: Buffer, topology: Topology) -> bool:
    """Say whether a source is held back: its readers have enough to do."""
    return _are_many(buffer.unread()) and _are_many(buffer.unread(topology.active_readers()))


def _are_many(unread: Sequence[Train]) -> bool:
    rows = sum(train.rows.count for train in unread)
    trains = AHEAD_TRAINS if rows > SMALL_ROWS else TINY_AHEAD
    return rows >= AHEAD_ROWS or len(unread) >= trains
