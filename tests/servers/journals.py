"""Journals in PostgreSQL as tests open them."""

from penstock.database.lease import LEASE_SECONDS, Holder
from penstock.database.place import journal_place
from penstock.database.postgres import PostgresDatabase
from penstock.runtime.stores import TABLES


def opened(
    url: str,
    *,
    home: str = "this home",
    owner: str = "a test",
    is_new: bool = True,
    lease_seconds: float = LEASE_SECONDS,
) -> PostgresDatabase:
    """Take the lease on a database, with all tables."""
    holder = Holder(home, owner, is_new)
    return PostgresDatabase(journal_place(url), TABLES, holder, lease_seconds=lease_seconds)
