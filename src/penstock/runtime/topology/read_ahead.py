"""How far sources are read ahead of those who read their trains."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.engine.trains.buffers import Buffer, Train
from penstock.engine.trains.rows import SMALL_ROWS
from penstock.runtime.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """How many trains and rows a source may be ahead of its slowest reader."""

    trains: int = 12  # a run takes what waits
    tiny_trains: int = 64  # which are run together, so more of them may wait
    tiny_rows: int = SMALL_ROWS  # in so few rows, all trains are tiny
    rows: int = 2_000_000

    def are_many(self, unread: Sequence[Train]) -> bool:
        """Say whether as much waits as may."""
        rows = sum(train.rows.count for train in unread)
        trains = self.trains if rows > self.tiny_rows else self.tiny_trains
        return rows >= self.rows or len(unread) >= trains


READ_AHEAD = ReadAhead()


def is_ahead(buffer: Buffer, topology: Topology, most: ReadAhead = READ_AHEAD) -> bool:
    """Say whether a source is held back: its readers have enough to do."""
    active = topology.active_readers
    return most.are_many(buffer.unread()) and most.are_many(buffer.unread(active()))
