"""Reading a query's results while they come, row by row or as Arrow tables."""

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from penstock.engine.sinks.sink import Delivery
from penstock.engine.trains.vectors import rows_of
from penstock.errors import BadOptionError, PenstockError
from penstock.runtime.durable.result_row import START, Position, ResultRow
from penstock.runtime.durable.results import ResultLog
from penstock.runtime.work.subscriber_queue import DeliveredRows, SubscriberQueue

MAX_ROWS = 100_000
CHUNK_ROWS = 1024  # rows turned into Python values at a time


class Subscription:
    """One reader of one query's results: iterate it, or call `next` or `tables`.

    Iterating waits for rows and ends when the query has ended or the subscription is closed. One
    thread reads; any thread may close. Without `after` it gives what is delivered from now on,
    and where the reader is slow the newest `max_rows` of that; with `after`, everything after
    that position that the log still has.
    """

    # Any thread may deliver, end or close. A delivery is in the log before it is handed out, and
    # nothing may subscribe between the two.

    def __init__(
        self,
        query: str,
        *,
        log: ResultLog | None = None,
        after: Position | None = None,
        max_rows: int = MAX_ROWS,
    ) -> None:
        if max_rows < 1:
            raise BadOptionError(f"max_rows {max_rows} must be at least 1")
        self.query = query
        self._position = after or START
        self._subscriber_queue = SubscriberQueue(
            log=None if after is None else log, after=self._position, max_rows=max_rows
        )
        self._stretch: DeliveredRows | None = None  # being read, up to row `_read`
        self._read = 0
        self._values: Iterator[dict[str, Any]] = iter(())

    @property
    def left_out(self) -> int:
        """Return how many rows were left out so far because the reader was slow, if known."""
        return self._subscriber_queue.left_out

    @property
    def gap(self) -> range | None:
        """Return the deliveries of which an unknown number of rows may be missing, if any."""
        return self._subscriber_queue.gap

    @property
    def position(self) -> Position:
        """Return the position of the last row handed out: where to resume."""
        return self._position

    @property
    def closed(self) -> bool:
        """Return whether `close` was called."""
        return self._subscriber_queue.closed

    @property
    def ended(self) -> bool:
        """Return whether no more rows will come."""
        return self.closed or (self._stretch is None and self._subscriber_queue.ended)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ResultRow:
        if (row := self.next()) is None:
            raise StopIteration
        return row

    def next(self, timeout: float | None = None) -> ResultRow | None:
        """Return the next row, or None where none came in `timeout` seconds or it has ended."""
        if (stretch := self._at_hand(timeout)) is None:
            return None
        if (values := next(self._values, None)) is None:
            self._values = iter(rows_of(stretch.rows.slice(self._read, CHUNK_ROWS)))
            values = next(self._values)
        self._hand_out(stretch, 1)
        return ResultRow(self.query, self._position, values)

    def tables(self, timeout: float | None = None) -> Iterator[pa.Table]:
        """Iterate the rest as Arrow tables, each of one delivery; end where `next` gives None.

        Who gets a whole delivery from memory gets the table that all other subscribers get.
        """
        while (stretch := self._at_hand(timeout)) is not None:
            rest = stretch.rows.slice(self._read) if self._read else stretch.rows
            self._values = iter(())
            self._hand_out(stretch, rest.num_rows)
            yield rest

    def on_news(self, function: Callable[[], None]) -> None:
        """Have a function called whenever something comes, or it ends: who waits needs no thread.

        It is called by whoever delivers, and must neither wait nor call back.
        """
        self._subscriber_queue.on_news = function

    def deliver(self, delivery: Delivery) -> None:
        """Take rows for the reader; a delivery's number again changes nothing."""
        self._subscriber_queue.deliver(delivery)

    def look(self) -> None:
        """See what the log has by now."""
        self._subscriber_queue.look()

    def end(self) -> None:
        """Say that nothing more will be delivered; the reader still gets the rest."""
        self._subscriber_queue.end()

    def fail(self, error: PenstockError) -> None:
        """Say that everything has stopped: the reader gets the rest, then the error."""
        self._subscriber_queue.fail(error)

    def close(self) -> None:
        """Stop reading: iteration ends, also where it waits in another thread."""
        self._subscriber_queue.close()

    def _at_hand(self, timeout: float | None) -> DeliveredRows | None:
        if self.closed:
            return None
        if self._stretch is None:
            self._stretch, self._read = self._subscriber_queue.take(timeout), 0
        return self._stretch

    def _hand_out(self, stretch: DeliveredRows, rows: int) -> None:
        self._read += rows
        self._position = (stretch.number, stretch.start + self._read - 1)
        if self._read == stretch.rows.num_rows:
            self._stretch = None
