"""The lease on a home's schema in PostgreSQL: one process writes, and who is dead is fenced off.

A session of PostgreSQL that writes holds an advisory lock, which the server frees when the session
ends: so two sessions never hold it. A row says who that is and when it was last alive, by the
server's clock. Who wants the lease and sees nothing of its holder for as long as a lease lasts has
the server end that session first: only then the lock is free, and what the other has not committed
is gone. A holder that wakes up later has no session any more.
"""

import time
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from penstock.database.place import JournalPlace
from penstock.errors import HomeBusyError, JournalError

LEASE_SECONDS = 15.0
LOOK_SECONDS = 0.2
KIND = 0x50454E53  # "PENS": whose locks these are, among all of the database
FORMAT = 1  # of the tables
LEASE = """
CREATE TABLE IF NOT EXISTS lease (
  one BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (one), format INTEGER NOT NULL, home TEXT NOT NULL,
  owner TEXT NOT NULL, epoch BIGINT NOT NULL, renewed TIMESTAMPTZ NOT NULL)
"""
TAKE = """
INSERT INTO lease (format, home, owner, epoch, renewed) VALUES ($1, $2, $3, 1, clock_timestamp())
ON CONFLICT (one) DO UPDATE
SET owner = excluded.owner, epoch = lease.epoch + 1, renewed = excluded.renewed
RETURNING epoch
"""
RENEW = "UPDATE lease SET renewed = clock_timestamp() WHERE epoch = $1"
LOCK = "SELECT pg_try_advisory_lock($1::int, $2::int)"
HOLDERS = """
SELECT pg_terminate_backend(pid) FROM pg_locks
WHERE locktype = 'advisory' AND granted AND classid = $1::oid AND objid = $2::oid
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
SEEN = """
SELECT owner, renewed, extract(epoch FROM clock_timestamp() - renewed)::float8 FROM lease
"""
Session = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Holder:
    """Who wants the lease: the home's own name, a name for people, and whether it is a new home.

    A home that is not new has had this journal before: an empty one is not its own.
    """

    home: str
    owner: str
    is_new: bool


def take(
    session: Session, place: JournalPlace, holder: Holder, tables: str, lease_seconds: float
) -> int:
    """Take the lease in this session and return its number; make the tables where they are not.

    Raises:
        HomeBusyError: another process holds it and is alive.
        JournalError: the schema is another home's, of another version, or was lost.
    """
    key = _prepare(session, place.schema)
    _lock(session, key, lease_seconds)
    _refuse_others(session, place, holder)
    with session.transaction():
        for statement in tables.strip().split(";\n"):
            session.execute(statement.encode())
        ((epoch,),) = session.execute(TAKE, (FORMAT, holder.home, holder.owner)).fetchall()
    return int(epoch)


def renew(session: Session, epoch: int) -> bool:
    """Say that the holder is alive; False where it holds the lease no more."""
    return session.execute(RENEW, (epoch,)).rowcount > 0


def _prepare(session: Session, schema: str) -> int:
    """Make the schema and the lease's table, and return the number of the lock."""
    name = sql.Identifier(schema)
    with session.transaction():
        session.execute("SELECT pg_advisory_xact_lock($1)", (KIND,))  # one maker at a time
        session.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name).as_bytes(session))
        session.execute(sql.SQL("SET search_path = {}").format(name).as_bytes(session))
        session.execute(LEASE)
        ((key,),) = session.execute(
            "SELECT (oid::bigint % 2147483647)::int FROM pg_namespace WHERE nspname = $1", (schema,)
        ).fetchall()
    return int(key)


def _lock(session: Session, key: int, lease_seconds: float) -> None:
    """Wait until the lock is ours; who has it is ended where nothing was seen of it for long."""
    first, give_up = None, time.monotonic() + 4 * lease_seconds
    while not session.execute(LOCK, (KIND, key)).fetchall()[0][0]:
        found = session.execute(SEEN).fetchall()
        owner, renewed, age = found[0] if found else ("another process", None, 0.0)
        first = first or renewed
        if renewed != first or time.monotonic() > give_up:
            raise HomeBusyError(
                f"the journal is in use by {owner}", hint="end that process; then this one goes on"
            )
        if age > lease_seconds:
            session.execute(HOLDERS, (KIND, key))
        time.sleep(LOOK_SECONDS)


def _refuse_others(session: Session, place: JournalPlace, holder: Holder) -> None:
    """Raise where the schema is not this home's."""
    found = session.execute("SELECT home, format FROM lease").fetchall()
    if not found and not holder.is_new:
        raise JournalError(
            f"{place} has no journal, and the home has had one",
            hint="restore it from a copy, or name the database where it is",
        )
    if found and found[0][0] != holder.home:
        raise JournalError(
            f"{place} has the journal of another home",
            hint="name another schema: postgresql://…/database?schema=another",
        )
    if found and found[0][1] > FORMAT:
        raise JournalError(
            f"{place} has a journal of format {found[0][1]}, and this Penstock knows {FORMAT}",
            hint="run the newer Penstock that made it",
        )
