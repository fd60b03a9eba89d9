"""Rows on their way to a client: of a table that is there, or of a query that is followed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from penstock.runtime.work.subscription import Subscription
from penstock.server.pg.backend import Backend
from penstock.server.pg.interrupt import Interrupt
from penstock.server.pg.values.types import TEXT, Column

CHUNK = 1_000  # rows that are encoded before a look at what the client does
POSITION = Column("position", TEXT)
Tell = Callable[[str, str], None]  # a severity, and what there is to know


class Source(Protocol):
    """Where rows come from."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of every table."""
        ...

    async def next(self, *, wait: bool) -> pa.Table | None:
        """Return some rows, none where it would have to wait for them, or None at the end."""
        ...

    def close(self) -> None:
        """Give no more."""
        ...


class Table:
    """Rows that are all there."""

    def __init__(self, columns: tuple[Column, ...], rows: pa.Table) -> None:
        self.columns = columns
        self._rows = rows
        self._at = 0

    async def next(self, *, wait: bool) -> pa.Table | None:
        if self._at >= self._rows.num_rows:
            return None
        part = self._rows.slice(self._at, CHUNK)
        self._at += part.num_rows
        await asyncio.sleep(0)  # others have their turn, and a request to cancel is seen
        return part

    def close(self) -> None:
        self._at = self._rows.num_rows


class Followed:
    """A query's rows, as they are delivered."""

    def __init__(
        self,
        backend: Backend,
        subscription: Subscription,
        columns: tuple[Column, ...],
        interrupt: Interrupt,
        tell: Tell,
        *,
        with_position: bool,
    ) -> None:
        self.columns = (POSITION, *columns) if with_position else columns
        self._with_position = with_position
        self._backend = backend
        self._subscription = subscription
        self._interrupt = interrupt
        self._tell = tell
        self._lost: tuple[int, range | None] = (0, None)
        self._news = asyncio.Event()
        self._waiting: pa.Table | None = None  # of a delivery, after what was given
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended: nobody waits any more
                loop.call_soon_threadsafe(self._news.set)

        subscription.on_news(wake)

    async def next(self, *, wait: bool) -> pa.Table | None:
        while True:
            self._interrupt.check()
            over = self._subscription.ended
            if self._waiting is None:
                self._news.clear()
                self._waiting = await self._read()
            if self._waiting is not None:
                return self._part()
            if over:
                return None
            if not wait:
                return pa.table({})
            await self._interrupt.wait_for(self._news)

    def close(self) -> None:
        self._backend.release(self._subscription)

    def _part(self) -> pa.Table:
        assert self._waiting is not None  # noqa: S101  (the caller has looked)
        part, rest = self._waiting.slice(0, CHUNK), self._waiting.slice(CHUNK)
        self._waiting = rest if rest.num_rows else None
        return part

    async def _read(self) -> pa.Table | None:
        rows = await self._backend.read(self._subscription)
        lost = (self._subscription.left_out, self._subscription.gap)
        if lost != self._lost:
            self._tell("WARNING", _lost(lost[0] - self._lost[0]))
            self._lost = lost
        if rows is None or not self._with_position:
            return rows
        number, last = self._subscription.position
        first = last + 1 - rows.num_rows
        positions = [f"{number}-{index}" for index in range(first, last + 1)]
        return rows.add_column(0, POSITION.name, pa.array(positions, pa.string()))


def _lost(rows: int) -> str:
    known = f"{rows:,} rows" if rows else "some rows"
    return f"{known} are left out: this client was too slow, and the log has them no more"


@dataclass(slots=True)
class Cursor:
    """A place in rows; they are taken from it in parts."""

    source: Source
    ended: bool = False
    _rest: pa.Table | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns."""
        return self.source.columns

    async def take(self, most: int | None) -> AsyncIterator[pa.Table]:
        """Yield at most so many rows; where a query is followed, those that are there.

        It waits for the first of them, and with None for all, to the end.
        """
        taken = 0
        while most is None or taken < most:
            rows = self._rest or await self.source.next(wait=most is None or taken == 0)
            self._rest = None
            if rows is None:
                self.ended = True
                return
            if rows.num_rows == 0:
                return
            if most is not None and rows.num_rows > most - taken:
                rows, self._rest = rows.slice(0, most - taken), rows.slice(most - taken)
            taken += rows.num_rows
            yield rows

    def close(self) -> None:
        """Give no more."""
        self.ended, self._rest = True, None
        self.source.close()
