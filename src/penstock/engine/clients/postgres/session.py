"""One session with a PostgreSQL: transactions that end in time, errors that say what is wrong.

Three clocks bound a transaction: the server ends a statement, a wait for a lock and an idle
transaction; the kernel gives up a peer that acknowledges nothing; and where the server's process
hangs while its kernel still answers, a timer of ours cuts the connection.
"""

import os
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import errors
from psycopg.sql import SQL, Composable, Identifier

from penstock.engine.clients.postgres.place import PostgresPlace
from penstock.engine.secrets import Secrets
from penstock.errors import PenstockError, shortened

LONGEST = 500  # of what a server says, in our errors
MOST_CONNECT = 10.0  # seconds for a connection, at most
GRACE = 2.0  # seconds that the server has, after its own limit, to say that it has ended something
NAME = "penstock"

Cursor = psycopg.Cursor[Any]

# What the user can mend, by class: what the server says of it names the relation and column.
HINTS: dict[type[psycopg.Error], str] = {
    errors.UndefinedTable: "make the table, or give create => true",
    errors.InvalidSchemaName: "make the schema, or name another one: schema => …",
    errors.UndefinedColumn: "the query's columns go to columns of the same names",
    errors.InsufficientPrivilege: "grant the role what it needs, or name another user",
    errors.InvalidColumnReference: "upsert needs a unique index over exactly the key's columns",
    errors.QueryCanceled: "it took longer than the option timeout allows",
    errors.LockNotAvailable: "somebody else holds a lock on it",
    errors.UntranslatableCharacter: "PostgreSQL holds no NUL in a text",
    errors.CharacterNotInRepertoire: "PostgreSQL holds no NUL in a text",
}
UNREACHED = "check host, port, database, user and password, and whether the server runs"


class Session:
    """A connection that is made when it is needed, and anew where it broke; for one thread."""

    def __init__(self, place: PostgresPlace, failure: type[PenstockError]) -> None:
        """Raise what goes wrong as `failure`."""
        self.place, self._failure = place, failure
        self._connection: psycopg.Connection[Any] | None = None

    @contextmanager
    def transaction(self, *, read_only: bool = False) -> Iterator[Cursor]:
        """Give a cursor in a transaction that is committed behind the block, or taken back."""
        cut = threading.Event()
        try:
            connection = self._connected()
            with (
                _ends_after(connection, self.place.seconds + GRACE, cut),
                connection.transaction(),
                connection.cursor() as cursor,
            ):
                if read_only:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                yield cursor
        except psycopg.Error as error:
            if cut.is_set():
                self.close()
                raise self._failure(
                    f"{self.place} did not answer for {self.place.seconds:g} s",
                    hint="see whether it hangs; a larger timeout => … gives it more",
                ) from None
            raise self.told(error) from error
        finally:
            if self._connection is not None and self._connection.broken:
                self.close()

    def close(self) -> None:
        """End the session; the next transaction makes a new one."""
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def told(self, error: psycopg.Error) -> PenstockError:
        """Return what the driver or the server raised as ours; passwords are in neither."""
        diag = error.diag
        said = diag.message_primary or " ".join(str(error).split())
        where = f" ({diag.context.splitlines()[0]})" if diag.context else ""
        hint = next((text for kind, text in HINTS.items() if isinstance(error, kind)), "")
        if not hint and diag.message_primary is None:
            hint = UNREACHED
        return self._failure(f"{self.place}: {shortened(said + where, LONGEST)}", hint=hint)

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            self._connection = connected(self.place)
        return self._connection


def connected(place: PostgresPlace) -> psycopg.Connection[Any]:
    """Return a new connection, each statement of it a transaction where none is begun."""
    limit = round(place.seconds * 1000)
    settings = {
        "statement_timeout": limit,
        "lock_timeout": limit,
        "idle_in_transaction_session_timeout": limit + round(GRACE * 1000),
        "TimeZone": "UTC",
        "DateStyle": "ISO",
        "IntervalStyle": "iso_8601",
        "bytea_output": "hex",
        "extra_float_digits": 1,
    }
    return psycopg.connect(
        host=place.host,
        port=place.port,
        dbname=place.database,
        user=place.user,
        password=Secrets().reveal(place.password) if place.password else None,
        sslmode=place.tls,
        connect_timeout=max(1, round(min(MOST_CONNECT, place.seconds))),
        tcp_user_timeout=limit,
        keepalives_idle=10,
        application_name=NAME,
        options=" ".join(f"-c {name}={value}" for name, value in settings.items()),
        autocommit=True,
    )


def named(schema: str, name: str) -> Composable:
    """Return a quoted name in a schema."""
    return Identifier(schema, name)


def listed(names: Iterable[str]) -> Composable:
    """Return quoted names with commas between."""
    return SQL(", ").join(Identifier(name) for name in names)


@contextmanager
def _ends_after(
    connection: psycopg.Connection[Any], seconds: float, cut: threading.Event
) -> Iterator[None]:
    """Cut the connection where the block takes longer, whatever waits on it."""
    # A copy of the descriptor: the driver may close its own, and the number be given away.
    line = socket.socket(fileno=os.dup(connection.fileno()))

    def end() -> None:
        cut.set()
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        line.close()
