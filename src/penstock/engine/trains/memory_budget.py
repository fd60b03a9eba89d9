"""The memory that large rows of states may take in the driver, all together."""

import threading
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from penstock.engine.trains.rows import Rows

STATE_BYTES = 256 << 20  # as much as one buffer


@dataclass(slots=True)
class MemoryBudget:
    """Counts the rows that it was asked about for as long as somebody has them in memory."""

    most: int = STATE_BYTES
    _held: WeakValueDictionary[int, Rows] = field(default_factory=WeakValueDictionary)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def has_room(self, rows: Rows) -> bool:
        """Say whether rows may stay in memory; from now on they count."""
        with self._lock:
            others = sum(each.memory_bytes for each in self._held.values() if each is not rows)
            if others + rows.memory_bytes > self.most:
                return False
            self._held[id(rows)] = rows
            return True
