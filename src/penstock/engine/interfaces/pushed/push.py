"""`push`: rows from Python, kept in a log before they are acknowledged.

A boundary is `{segment, from, to}`: whole records of one segment of the log (log.py), and the
`depth` of their rows where rules have inserted them.
"""

import threading
from collections import deque
from collections.abc import Callable

import pyarrow as pa

from penstock.engine.interfaces.durable import make_home
from penstock.engine.interfaces.interface import Boundary, Ingest, Offer, Surroundings
from penstock.engine.interfaces.pushed.push_log import BEGINNING, SEGMENT_BYTES, Log, Place, Span
from penstock.engine.interfaces.pushed.push_rows import table_of
from penstock.engine.interfaces.rejects import event_time
from penstock.engine.interfaces.rows import require_times
from penstock.engine.options import Declared, flag, read_options, whole
from penstock.engine.trains.types import arrow_schema
from penstock.errors import BadRowError, PenstockError, SourceError
from penstock.model.definitions import StreamDefinition

OPTIONS = {
    "lenient": Declared(flag, default=False, about="2.0 fits an INT column"),
    "sync": Declared(flag, default=False, about="pushed rows survive a loss of power, too"),
    "rows_per_train": Declared(whole(), default=100_000, about="most rows in a train"),
}


class Push:
    """One stream that Python code feeds; safe to use from many threads."""

    def __init__(
        self,
        definition: StreamDefinition,
        around: Surroundings,
        segment_bytes: int = SEGMENT_BYTES,
    ) -> None:
        """Keep the options.

        `on_arrival` is called after each append, by the thread that pushed; `on_open` is told how
        many tuples the log has, before anybody can append.
        """
        options = read_options(definition.source, OPTIONS)
        self.on_arrival: Callable[[], None] | None = None
        self.on_open: Callable[[int], None] | None = None
        self._stream = definition
        self._time = event_time(definition)
        self._lenient: bool = options["lenient"]
        self._sync: bool = options["sync"]
        self._rows_per_train: int = options["rows_per_train"]
        self._around, self._segment_bytes = around, segment_bytes
        self._lock = threading.Lock()
        self._log: Log | None = None
        self._damage: PenstockError | None = None  # why it could not be opened
        self._waiting: deque[Span] = deque()

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        read_options(definition.source, OPTIONS)
        event_time(definition)

    @property
    def bounded(self) -> bool:
        return False

    @property
    def ended(self) -> bool:
        with self._lock:
            return self._log is not None and self._log.ended and not self._waiting

    def open(self, after: Boundary | None) -> None:
        self.close()
        make_home(self._around.home)
        with self._lock:
            place = BEGINNING if after is None else (int(after["segment"]), int(after["to"]))
            try:
                self._open(place)
            except PenstockError as error:
                self._damage = error  # for those who push and read meanwhile
                raise

    def next(self) -> Offer | None:
        with self._lock:
            if not self._waiting:
                return None
            first = last = self._waiting.popleft()
            rows = first.rows
            while self._waiting and self._joins(last, rows):
                last = self._waiting.popleft()
                rows += last.rows
        where = {"segment": first.segment, "from": first.first, "to": last.last}
        return Offer(where | ({"depth": first.depth} if first.depth else {}), first.arrived)

    def read(self, boundary: Boundary) -> Ingest:
        log = self._opened()
        batches = log.read(boundary["segment"], boundary["from"], boundary["to"])
        return Ingest(pa.Table.from_batches(batches, arrow_schema(self._stream.schema)))

    def commit(self, boundary: Boundary) -> None:
        with self._lock:
            if self._log is not None:  # one that is damaged stays as it is
                self._log.forget(boundary["segment"], boundary["to"])

    def to_disk(self) -> None:
        """Wait until all that was pushed is on disk: a checkpoint will say that it was read."""
        with self._lock:
            if self._log is not None:
                self._log.to_disk()

    @property
    def is_open(self) -> bool:
        """Say whether rows can be pushed and read: its log is not damaged."""
        with self._lock:
            return self._log is not None

    @property
    def notice(self) -> str:
        """Return what was cut off when the log was opened, or nothing."""
        with self._lock:
            return self._log.notice if self._log is not None else ""

    def close(self) -> None:
        with self._lock:
            if self._log is not None:
                self._log.close()
                self._log = None

    def push(self, rows: object) -> int:
        """Append rows of any form (pushed.py), all or none; return how many the stream has had.

        When it returns, the rows survive the end of this process, and with `sync => true` also
        a loss of power. Raises BadRowError with the row and the column that do not fit.
        """
        return self.append(self.checked(rows))

    def checked(self, rows: object) -> pa.Table:
        """Return rows of any form in the stream's schema; BadRowError where they do not fit."""
        table = table_of(rows, arrow_schema(self._stream.schema), lenient=self._lenient)
        require_times(table, self._time)
        return table

    def append(
        self, table: pa.Table, depth: int = 0, intend: Callable[[int], None] | None = None
    ) -> int:
        """Append rows of the stream's schema that rules, one after the other, have led to.

        `intend` is told the number of tuples before them; nobody else appends between that and
        the rows, so that more tuples than these, after a crash, say that the rows are there.
        """
        with self._lock:
            log = self._opened()
            if log.ended:
                raise BadRowError(
                    f"{self._stream.name} has ended", hint="after end() nothing can be pushed"
                )
            if table.num_rows:
                if intend is not None:
                    intend(log.rows)
                batches = table.combine_chunks().to_batches()
                self._waiting.extend(log.append(batches, self._around.clock.now(), depth))
            position = log.rows
        self._tell()
        return position

    @property
    def syncs(self) -> bool:
        """Say whether what is pushed survives a loss of power."""
        return self._sync

    @property
    def waits(self) -> bool:
        """Say whether rows wait to be offered."""
        with self._lock:
            return bool(self._waiting)

    @property
    def rows(self) -> int:
        """Return how many tuples were ever appended."""
        with self._lock:
            return self._opened().rows

    def last(self) -> pa.Table | None:
        """Return the rows that were appended last, or None where there never were any."""
        with self._lock:
            log = self._opened()
            if (span := log.last()) is None:
                return None
            return pa.Table.from_batches(log.read(span.segment, span.first, span.last))

    def end(self) -> None:
        """Say, for good, that nothing follows; the stream ends when what waits is drained."""
        with self._lock:
            self._opened().end()
        self._tell()

    def _open(self, place: Place) -> None:
        schema = arrow_schema(self._stream.schema)
        log = Log(
            self._around.home,
            schema,
            sync=self._sync,
            read=place,
            segment_bytes=self._segment_bytes,
        )
        try:
            if self.on_open is not None:
                self.on_open(log.rows)
            self._waiting = deque(log.after(*place))
        except BaseException:
            log.close()
            raise
        self._log, self._damage = log, None

    def _joins(self, last: Span, rows: int) -> bool:
        """Say whether the next record still goes into the train that ends with `last`."""
        after = self._waiting[0]
        alike = after.segment == last.segment and after.depth == last.depth
        return alike and rows + after.rows <= self._rows_per_train

    def _opened(self) -> Log:
        if self._damage is not None:
            raise SourceError(self._damage.message, hint=self._damage.hint)
        if self._log is None:
            raise SourceError(f"{self._stream.name} is not open", hint="is its system running?")
        return self._log

    def _tell(self) -> None:
        if self.on_arrival is not None:
            self.on_arrival()
