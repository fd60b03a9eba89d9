"""What waits for one reader of results: the newest rows in memory, older ones in the log.

When the reader is slow the oldest rows leave memory first. A subscriber queue that has a log reads
them again from there, as it does with what was delivered before it was made: so every row after its
position comes out once and in order, whatever happens in between. Rows that neither memory nor log
has any more are left out, and counted.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from penstock.engine.sinks.sink import Delivery
from penstock.errors import PenstockError
from penstock.runtime.durable.result_row import Position
from penstock.runtime.durable.results import ResultLog


@dataclass(frozen=True, slots=True)
class DeliveredRows:
    """Rows of one delivery, from index `start` to its end."""

    number: int
    start: int
    rows: pa.Table

    def without(self, count: int) -> "DeliveredRows":
        """Return the stretch without its first rows, or itself."""
        if not count:
            return self
        return DeliveredRows(self.number, self.start + count, self.rows.slice(count))


class SubscriberQueue:
    """One thread takes; any thread may deliver, end or close."""

    def __init__(self, *, log: ResultLog | None, after: Position, max_rows: int) -> None:
        self._log = log
        self._max_rows = max_rows
        self._changed = threading.Condition()
        self._queue: deque[DeliveredRows] = deque()
        self._queued = 0  # rows in the queue
        self._next = _following(after)  # what the reader has to get next
        self._last = log.last if log is not None else 0  # the newest delivery there is
        self.left_out = 0
        self.gap: range | None = None
        self.closed = False
        self._ended = False
        self._failure: PenstockError | None = None
        self.on_news: Callable[[], None] | None = None

    @property
    def ended(self) -> bool:
        """Say whether nothing will come any more."""
        with self._changed:
            return self.closed or (self._ended and not self._waits)

    def deliver(self, delivery: Delivery) -> None:
        """Take rows for the reader; a delivery's number again changes nothing."""
        with self._changed:
            if self.closed or delivery.number <= self._last:
                return
            self._last = delivery.number
            number, index = self._next
            if delivery.number >= number:
                whole = DeliveredRows(delivery.number, 0, delivery.rows)
                self._put(whole.without(index) if delivery.number == number else whole)
            self._tell()

    def look(self) -> None:
        """See what the log has by now; the reader reads it there."""
        with self._changed:
            if self._log is not None:
                self._last = max(self._last, self._log.last)

    def end(self) -> None:
        """Say that nothing more will be delivered; the reader still gets the rest."""
        with self._changed:
            self._ended = True
            self._tell()

    def fail(self, error: PenstockError) -> None:
        """Say that everything has stopped; the reader gets the rest, and then the error."""
        with self._changed:
            self._failure = error
            self._tell()

    def close(self) -> None:
        """Want nothing more: a reader that waits stops."""
        with self._changed:
            self.closed = True
            self._queue.clear()
            self._tell()

    def take(self, timeout: float | None) -> DeliveredRows | None:
        """Return the next rows, or None where none came in time, or nothing will come."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._wait(deadline):
            if (stretch := self._from_memory() or self._from_log()) is not None:
                return stretch
        if self._failure is not None and not self.closed and not self._ended:
            raise self._failure
        return None

    def _tell(self) -> None:
        """Wake who waits; the lock is held."""
        self._changed.notify_all()
        if self.on_news is not None:
            self.on_news()

    @property
    def _waits(self) -> bool:
        behind = self._log is not None and self._next[0] <= self._last
        return bool(self._queue) or behind

    def _wait(self, deadline: float | None) -> bool:
        """Return True once there is something to take."""
        with self._changed:
            while not (self._waits or self.closed or self._ended or self._failure):
                left = None if deadline is None else deadline - time.monotonic()
                if (left is not None and left <= 0) or not self._changed.wait(left):
                    break
            return self._waits and not self.closed

    def _put(self, stretch: DeliveredRows) -> None:
        if not stretch.rows.num_rows:
            return
        self._queue.append(stretch)
        self._queued += stretch.rows.num_rows
        while self._queued > self._max_rows:
            if self._log is not None:
                self._queued -= self._queue.popleft().rows.num_rows
            else:
                self._leave_out_oldest(self._queued - self._max_rows)

    def _leave_out_oldest(self, excess: int) -> None:
        oldest = self._queue.popleft()
        gone = min(excess, oldest.rows.num_rows)
        if gone < oldest.rows.num_rows:
            self._queue.appendleft(oldest.without(gone))
        self._queued -= gone
        self.left_out += gone

    def _from_memory(self) -> DeliveredRows | None:
        with self._changed:
            if not self._queue or (self._log is not None and self._queue[0].number > self._next[0]):
                return None
            stretch = self._queue.popleft()
            self._queued -= stretch.rows.num_rows
            self._next = (stretch.number + 1, 0)
            return stretch

    def _from_log(self) -> DeliveredRows | None:
        """Return the next rows that memory does not have; the log is read outside the lock."""
        if self._log is None:
            return None
        with self._changed:
            number, index = self._next
            end = self._queue[0].number if self._queue else self._last + 1
        found = next(self._log.read_after(number - 1), None)
        reached = min(end, found.number if found is not None else end)
        if reached > number:
            self._count_gone(number, index, reached)
            index = 0
        if found is None or found.number >= end:
            self._next = (end, 0)
            return None
        self._next = (found.number + 1, 0)
        stretch = DeliveredRows(found.number, index, found.rows.slice(index))
        return stretch if stretch.rows.num_rows else None

    def _count_gone(self, number: int, index: int, end: int) -> None:
        """Count the rows from a position to below a delivery that the log has no more."""
        gone = self._log.rows_gone(number, end) if self._log is not None else None
        with self._changed:
            if gone is None:
                self.gap = range(self.gap.start if self.gap else number, end)
            else:
                self.left_out += max(0, gone - index)


def _following(position: Position) -> Position:
    number, index = position
    return (1, 0) if number < 1 else (number, index + 1)
