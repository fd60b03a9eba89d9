"""Catalog and journal of a home: files in it, or a schema of PostgreSQL under a lease."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from penstock.catalog import Catalog, SqlCatalog, SqliteCatalog
from penstock.catalog.sqlite import POSTGRES_TABLES as CATALOG_TABLES
from penstock.database.place import JournalPlace, journal_place
from penstock.errors import NotInstalledError
from penstock.runtime.durable.home import Home
from penstock.runtime.durable.journal import Journal
from penstock.runtime.durable.journal_sqlite import POSTGRES_TABLES as JOURNAL_TABLES
from penstock.runtime.durable.journal_sqlite import SqliteJournal, SqlJournal

TABLES = f"{CATALOG_TABLES.strip()};\n{JOURNAL_TABLES.strip().removesuffix(';')}"


@dataclass(frozen=True, slots=True)
class Stores:
    """What is defined and how far it has come; `refuse_lost` raises once others may write it."""

    catalog: Catalog
    journal: Journal
    refuse_lost: Callable[[], None]

    def close(self) -> None:
        """Close both."""
        self.journal.close()
        self.catalog.close()


def open_stores(home: Home, url: str | None) -> Stores:
    """Open a home's catalog and journal, in PostgreSQL where a URL is given.

    Raises:
        HomeError: the home has them elsewhere, or they are damaged or lost.
        HomeBusyError: another process holds the lease.
        JournalError: PostgreSQL cannot be reached or used.
    """
    place = None if url is None else journal_place(url)
    home.refuse_other_journal(elsewhere=place is not None)
    home.refuse_lost_catalog()
    return _in_files(home) if place is None else _in_postgres(home, place)


def _in_files(home: Home) -> Stores:
    catalog = SqliteCatalog(home.catalog)
    try:
        home.refuse_lost_journal(len(catalog.all()))
        return Stores(catalog, SqliteJournal(home.journal), lambda: None)
    except BaseException:
        catalog.close()
        raise


def _in_postgres(home: Home, place: JournalPlace) -> Stores:
    try:
        from penstock.database.lease import Holder  # noqa: PLC0415  (an extra)
        from penstock.database.postgres import PostgresDatabase  # noqa: PLC0415
    except ImportError:
        raise NotInstalledError(
            "a journal in PostgreSQL needs psycopg, which is not installed",
            hint="pip install 'penstock[postgres]'",
        ) from None
    owner = f"process {os.getpid()} on {socket.gethostname()}"
    holder = Holder(home.identity(), owner, is_new=not home.journal_elsewhere)
    database = PostgresDatabase(place, TABLES, holder)
    home.note_journal(str(place))
    return Stores(SqlCatalog(database, str(place)), SqlJournal(database), database.refuse_lost)
