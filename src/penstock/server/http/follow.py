"""Following a query without a thread of one's own: rows as events, taken when something came.

Whoever delivers tells the loop that there is news; one of a few threads then takes what is there,
and makes text of it. A subscriber that reads slowly takes slowly: what waits for it is bounded, and
what does not fit is read from the result log again (runtime/work/subscriber_queue.py).

All who follow a query get the same table of each delivery, and its text is made once for them.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.sinks.json_lines import batches, joined, json_objects
from penstock.errors import BadRequestError, quoted_value
from penstock.runtime.durable.result_row import START, Position
from penstock.runtime.work.subscription import Subscription
from penstock.server.service import Service

CHUNK_ROWS = 1_000  # made text of at once: what a client that reads nothing costs
CHUNK_BYTES = 1 << 20  # and so many bytes of them, where rows are long
SHARED = 16  # chunks whose text is kept for those who are sent the same
QUIET_SECONDS = 15.0  # without rows, after which a client is told that the connection lives
POSITION = re.compile(r"(\d{1,18})-(\d{1,18})")
NOW = "now"


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Rows of one delivery: its number, the first row's index in it, and each row as JSON.

    Equal to itself alone: as a key it stands for its text.
    """

    number: int
    first: int
    objects: pa.Array

    def ids(self) -> pa.Array:
        """Return the position of each row, as clients hand it back."""
        indexes = pa.array(range(self.first, self.first + len(self.objects)), pa.int64())
        return pc.binary_join_element_wise(f"{self.number}-", indexes.cast(pa.string()), "")


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Rows of a delivery from index `first` on; equal to another one of the very same table."""

    number: int
    first: int
    rows: pa.Table

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Stretch)
            and self.rows is other.rows
            and (self.number, self.first) == (other.number, other.first)
        )

    def __hash__(self) -> int:
        return hash((self.number, self.first, id(self.rows)))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that the subscriber was too slow for, and that the log has no more; None is unknown."""

    rows: int | None


@dataclass(frozen=True, slots=True)
class Quiet:
    """Nothing came for a while."""


@dataclass(frozen=True, slots=True)
class Ended:
    """No more rows will come."""


News = Chunk | LeftOut | Quiet | Ended


def position_of(text: str | None) -> Position | None:
    """Return a position as a client hands it back: `12-3`; `now` is None, nothing is the start."""
    if text is None or text == "":
        return START
    if text == NOW:
        return None
    if (found := POSITION.fullmatch(text)) is None:
        raise BadRequestError(
            f"{quoted_value(text)} is no position of a row",
            hint="send the id of the last row, such as 12-3, or `now`",
        )
    return int(found[1]), int(found[2])


@dataclass(slots=True)
class Follower:
    """One subscriber's news, in order; iterate it once, then `release` its subscription."""

    service: Service
    subscription: Subscription
    waits: bool = True  # for rows to come; else it ends with what is there
    _rest: Stretch | None = None
    _taken: int = 0  # rows of it
    _left_out: int = 0
    _gap: range | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def __aiter__(self) -> AsyncIterator[News]:
        """Yield rows as they come, until the query ends or the subscription is closed."""
        loop = asyncio.get_running_loop()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has ended: nobody waits any more
                loop.call_soon_threadsafe(self._news.set)

        self.subscription.on_news(tell)
        while True:
            self._news.clear()
            over = self.subscription.ended or not self.waits
            found = await self.service.threads.reads.do(self._take)
            for each in found:
                yield each
            if found:
                continue
            if over:
                break
            try:
                await asyncio.wait_for(self._news.wait(), QUIET_SECONDS)
            except TimeoutError:
                yield Quiet()
        if self.subscription.ended and not self.subscription.closed:
            yield Ended()

    def _take(self) -> list[News]:
        """Return what is there: some rows, after what was lost before them; never wait."""
        if self._rest is None and (table := next(self.subscription.tables(0), None)) is not None:
            number, last = self.subscription.position
            self._rest, self._taken = Stretch(number, last + 1 - table.num_rows, table), 0
        return [*self._lost(), *self._chunk()]

    def _lost(self) -> list[News]:
        known, gap = self.subscription.left_out, self.subscription.gap
        if gap != self._gap:
            self._gap, self._left_out = gap, known
            return [LeftOut(None)]
        if known > self._left_out:
            more, self._left_out = known - self._left_out, known
            return [LeftOut(more)]
        return []

    def _chunk(self) -> Sequence[News]:
        if self._rest is None:
            return ()
        found = _chunks(self._rest, self._taken)
        self._taken += sum(len(each.objects) for each in found)
        if self._taken == self._rest.rows.num_rows:
            self._rest = None
        return found


@lru_cache(SHARED)
def _chunks(stretch: Stretch, taken: int) -> tuple[Chunk, ...]:
    """Return the next rows as JSON, behind those that were taken."""
    found, at, rest = list[Chunk](), stretch.first + taken, stretch.rows.slice(taken)
    for batch in batches(rest.slice(0, _rows_of_a_chunk(rest))):
        found.append(Chunk(stretch.number, at, json_objects(batch)))
        at += batch.num_rows
    return tuple(found)


def _rows_of_a_chunk(table: pa.Table) -> int:
    row_bytes: int = table.nbytes // max(1, table.num_rows)
    return max(1, min(CHUNK_ROWS, CHUNK_BYTES // max(1, row_bytes)))


@lru_cache(SHARED)
def as_events(chunk: Chunk) -> bytes:
    """Return rows as Server-Sent Events: `id:` its position, `data:` the row."""
    text = pc.binary_join_element_wise("id: ", chunk.ids(), "\ndata: ", chunk.objects, "\n\n", "")
    return bytes(joined(text))


@lru_cache(SHARED)
def as_message(chunk: Chunk) -> str:
    """Return rows as one message: `{"rows": [{"position": "1-0", "row": {…}}]}`."""
    rows = pc.binary_join_element_wise(
        '{"position":"', chunk.ids(), '","row":', chunk.objects, "},", ""
    )
    return '{"rows":[' + str(bytes(joined(rows))[:-1], "utf-8") + "]}"
