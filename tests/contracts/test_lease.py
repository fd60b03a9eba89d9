"""The lease on a journal in PostgreSQL: one writes, who is dead is fenced off, nothing is lost."""

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from penstock.catalog import SqlCatalog
from penstock.database.postgres import PostgresDatabase
from penstock.errors import ClosedError, HomeBusyError, JournalError, LeaseLostError
from penstock.runtime.durable.journal_sqlite import SqlJournal
from tests.e2e.support import until
from tests.servers.journals import opened
from tests.servers.postgres import PostgresServer

BRIEF = 6.0  # seconds that a lease lasts here: a busy machine renews it all the same


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.database()


@pytest.fixture
def first(url: str) -> Iterator[PostgresDatabase]:
    with closing(opened(url, owner="the first", lease_seconds=BRIEF)) as made:
        yield made


def test_who_is_alive_keeps_it(url: str, first: PostgresDatabase) -> None:
    with pytest.raises(HomeBusyError, match="the first"):
        opened(url, lease_seconds=BRIEF)
    SqlJournal(first).record_train("s", 1, {}, 0.0)


def test_who_ends_gives_it_back_with_all_that_was_written(
    url: str, first: PostgresDatabase
) -> None:
    SqlJournal(first).record_train("s", 1, {"to": 1}, 0.5)
    SqlCatalog(first, "there").put("STREAM", "s", "CREATE …")
    first.close()
    with closing(opened(url, is_new=False, lease_seconds=BRIEF)) as second:
        assert second.epoch == first.epoch + 1
        (train,) = SqlJournal(second).trains_after("s", 0)
        assert train.boundary == {"to": 1}
        assert [entry.name for entry in SqlCatalog(second, "there").all()] == ["s"]
    with pytest.raises(ClosedError):
        SqlJournal(first).record_train("s", 2, {}, 0.0)


def test_who_was_taken_for_dead_writes_nothing_any_more(url: str) -> None:
    """Its open step is taken back, and every call says that the lease is lost."""
    dead = opened(url, lease_seconds=10_000.0)  # which renews it only after hours
    journal = SqlJournal(dead)
    journal.record_train("s", 1, {}, 0.0)
    _age(url)

    def step() -> None:
        with journal.together():
            journal.record_train("s", 2, {}, 0.0)
            with closing(opened(url, lease_seconds=BRIEF)) as second:
                assert len(SqlJournal(second).trains_after("s", 0)) == 1
                SqlJournal(second).record_train("s", 2, {"by": "second"}, 0.0)
                journal.record_train("s", 3, {}, 0.0)

    with pytest.raises(LeaseLostError):
        step()
    with pytest.raises(LeaseLostError):
        dead.refuse_lost()
    with closing(opened(url, lease_seconds=BRIEF)) as third:
        assert [each.boundary for each in SqlJournal(third).trains_after("s", 1)] == [
            {"by": "second"}
        ]
    dead.close()


def test_a_session_that_ends_is_noticed_also_by_who_writes_nothing(
    url: str, first: PostgresDatabase
) -> None:
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    until(lambda: "the lease is still held", lambda: first._lost is not None)
    with pytest.raises(LeaseLostError):
        first.refuse_lost()


def test_a_schema_belongs_to_one_home(url: str, first: PostgresDatabase) -> None:
    first.close()
    with pytest.raises(JournalError) as told:
        opened(url, home="another")
    assert told.value.code == "NO_JOURNAL"
    with closing(opened(f"{url}?schema=another", home="another")) as made:
        assert SqlCatalog(made, "there").all() == []


def test_a_home_that_had_a_journal_takes_no_empty_one(url: str) -> None:
    with pytest.raises(JournalError):
        opened(url, is_new=False)


@pytest.mark.parametrize("change", ["server", "database", "password"])
def test_what_cannot_be_reached_is_told_without_the_password(url: str, change: str) -> None:
    head, _, tail = url.rpartition(":")
    port, _, name = tail.partition("/")
    wrong = {
        "server": f"{head}:1/{name}",
        "database": f"{head}:{port}/nosuch",
        "password": f"{head.replace('%', '%78', 1)}:{port}/{name}",
    }[change]
    with pytest.raises(JournalError) as told:
        opened(wrong)
    assert told.value.code == "NO_JOURNAL"
    assert "p@ss" not in str(told.value)
    assert "%40" not in str(told.value)


def _age(url: str) -> None:
    """Let the holder have been seen for the last time an hour ago."""
    with psycopg.connect(url, autocommit=True) as other:
        other.execute("UPDATE penstock.lease SET renewed = renewed - INTERVAL '1 hour'")
