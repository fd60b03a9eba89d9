"""A schema of PostgreSQL for one home: statements over one session, which holds the lease.

All that is written goes through the session that holds the lease's lock (lease.py), and it is never
opened again: where it ends, whatever the cause, nothing more can be written, and every call raises
LeaseLostError. So who takes over finds all that was acknowledged, and nobody beside it.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from penstock.database.lease import LEASE_SECONDS, Holder, renew, take
from penstock.database.place import JournalPlace
from penstock.errors import (
    ClosedError,
    DiskFullError,
    JournalError,
    LeaseLostError,
    PenstockError,
    shortened,
)

PLACEHOLDER = re.compile(r"\?(\d*)")
# A machine that has gone is noticed on both sides before the lease ends.
ALIVE: dict[str, str | int] = {
    "application_name": "penstock",
    "connect_timeout": 10,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
SESSION = ("tcp_keepalives_idle = 5", "tcp_keepalives_interval = 2", "tcp_keepalives_count = 3")
RENEWALS = 3  # in the time that a lease lasts
DISK_FULL = "53100"


class PostgresDatabase:
    """One session for many threads of one process; it ends with the lease."""

    def __init__(
        self,
        place: JournalPlace,
        tables: str,
        holder: Holder,
        *,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        """Connect, take the lease, and make the tables where they are missing.

        Raises:
            JournalError: the server cannot be reached or used, or the schema is another home's.
            HomeBusyError: another process holds the lease and is alive.
        """
        self.place = place
        self._lock = threading.RLock()
        self._lost: PenstockError | None = None
        self._closed = threading.Event()
        with self._opening():
            self._session = _session(place)
            try:
                self.epoch = take(self._session, place, holder, tables, lease_seconds)
            except BaseException:
                self._session.close()
                raise
        self._pause = lease_seconds / RENEWALS
        self._renewing = threading.Thread(target=self._renew, name="penstock-lease", daemon=True)
        self._renewing.start()

    def rows(self, statement: str, *values: Any) -> list[Any]:
        with self._session_of() as session:
            return session.execute(_translated(statement), values).fetchall()

    def number(self, statement: str, *values: Any) -> int:
        found = self.rows(statement, *values)
        return int(found[0][0] or 0) if found else 0

    def execute(self, statement: str, *values: Any) -> "psycopg.Cursor[Any]":
        with self._session_of() as session:
            return session.execute(_translated(statement), values)

    def execute_all(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        with self._session_of() as session:
            for row in rows:
                session.execute(_translated(statement), row)

    @contextmanager
    def transaction(self, *, to_disk: bool = False) -> Iterator[None]:
        with self._session_of() as session, session.transaction():
            yield

    def refuse_lost(self) -> None:
        """Raise LeaseLostError once others may write."""
        if self._lost is not None and not self._closed.is_set():
            raise self._lost

    def close(self) -> None:
        """End the session, and with it the lease."""
        self._closed.set()
        with self._lock, suppress(psycopg.Error):
            self._session.close()

    @contextmanager
    def _session_of(self) -> Iterator["psycopg.Connection[Any]"]:
        """Give the session to one thread at a time, as long as the lease is ours."""
        with self._lock:
            if self._closed.is_set():
                raise ClosedError("the home is closed", hint="connect() opens it again")
            self.refuse_lost()
            try:
                yield self._session
            except psycopg.Error as error:
                raise self._told(error) from error

    def _told(self, error: psycopg.Error) -> PenstockError:
        if self._session.closed or self._session.broken:
            self._lost = self._lost or lease_lost(self.place)
            return self._lost
        if error.sqlstate == DISK_FULL:
            return DiskFullError(f"no room left for the journal in {self.place}")
        return JournalError(f"{self.place} refuses a statement: {_words(error)}")

    def _renew(self) -> None:
        """Say that we are alive, until the lease is gone or given back."""
        while not self._closed.wait(self._pause):
            with suppress(PenstockError), self._session_of() as session:
                if not renew(session, self.epoch):
                    self._lost = lease_lost(self.place)
            if self._lost is not None:
                return

    @contextmanager
    def _opening(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise JournalError(
                f"{self.place} cannot be used: {_words(error)}",
                hint="look whether it runs, and whether the user may connect and create a schema "
                "in the database; the home is as it was",
            ) from error


def lease_lost(place: JournalPlace) -> LeaseLostError:
    """Return the error for a session that has ended, or a lease that somebody else has."""
    return LeaseLostError(
        f"the lease on {place} is lost: the session ended, or another process has taken over",
        hint="nothing that was acknowledged is lost: start it again, here or elsewhere, and it "
        "goes on",
    )


def _session(place: JournalPlace) -> "psycopg.Connection[Any]":
    session: psycopg.Connection[Any] = psycopg.connect(
        make_conninfo(place.url, **ALIVE),
        autocommit=True,
        cursor_factory=psycopg.RawCursor,
    )
    for each in SESSION:
        with suppress(psycopg.Error):  # by a socket of the file system there are none
            session.execute(f"SET {each}".encode())
    return session


@cache
def _translated(statement: str) -> bytes:
    """Return a statement with PostgreSQL's placeholders."""
    count = iter(range(1, 100))
    return PLACEHOLDER.sub(lambda found: f"${found[1] or next(count)}", statement).encode()


def _words(error: psycopg.Error) -> str:
    """Return what the server or its client library says, on one line."""
    lines = str(error.diag.message_primary or error).strip().splitlines()
    return shortened(lines[0]) if lines else type(error).__name__
