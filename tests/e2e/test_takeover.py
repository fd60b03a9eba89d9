"""A journal in PostgreSQL: another process takes over from one that died, and rows come once."""

import json
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.errors import HomeBusyError, HomeError, JournalError
from tests.e2e import scenario
from tests.e2e.children import Child
from tests.e2e.support import finish, until
from tests.servers.postgres import PostgresServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ROWS, ROWS_PER_TRAIN = 4_000, 200


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.database()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    place = tmp_path_factory.mktemp("data")
    rows = scenario.make_rows(ROWS, seconds=900)
    return place, scenario.prepare(place, rows, rows_per_train=ROWS_PER_TRAIN)


def test_another_process_goes_on_where_one_was_killed_or_cut_off(
    script: tuple[Path, str], spark: SparkSession, tmp_path: Path, url: str
) -> None:
    told = {
        "home": str(tmp_path / "home"),
        "journal": url,
        "script": script[1].format(out=tmp_path / "out"),
    }
    first = Child(tmp_path / "first", told)
    try:
        assert first.wait_for("standing"), first.errors()
        until(first.errors, lambda: any((tmp_path / "out").glob("*/part-*")))
        with pytest.raises(HomeBusyError):  # the lease is renewed, and so is the home's lock held
            penstock.connect(tmp_path / "home", spark=spark, journal=url)
    finally:
        first.kill()
    second = Child(tmp_path / "second", told)
    try:
        assert second.wait_for("standing"), second.errors()
        cut_off(url)
        assert not second.wait_for("done")  # it has ended by itself
    finally:
        second.kill()
    assert "LEASE_LOST" in second.errors()
    assert not (tmp_path / "home" / "journal.db").exists()
    with penstock.connect(
        tmp_path / "home", spark=spark, journal=url, writable=[tmp_path]
    ) as third:
        finish(third)
    with penstock.connect(tmp_path / "other", spark=spark, writable=[tmp_path]) as ps:
        ps.script(script[1].format(out=tmp_path / "expected"))
        finish(ps)
    scenario.same(scenario.contents(tmp_path / "out"), scenario.contents(tmp_path / "expected"))


def test_a_home_and_its_journal_are_not_parted(
    spark: SparkSession, tmp_path: Path, url: str
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark, journal=url) as ps:
        ps.sql("CREATE STREAM s (id INT) FROM push()")
    told = (tmp_path / "home" / "journal").read_text()
    assert "PostgreSQL at 127.0.0.1" in told
    assert "@" not in told  # neither user nor password
    with pytest.raises(HomeError) as refused:
        penstock.connect(tmp_path / "home", spark=spark)
    assert "--journal" in refused.value.hint
    with pytest.raises(JournalError):
        penstock.connect(tmp_path / "home", spark=spark, journal=f"{url}?schema=empty")
    with pytest.raises(JournalError):
        penstock.connect(tmp_path / "another", spark=spark, journal=url)
    with penstock.connect(tmp_path / "own", spark=spark):
        pass
    with pytest.raises(HomeError):
        penstock.connect(tmp_path / "own", spark=spark, journal=f"{url}?schema=own")
    with penstock.connect(tmp_path / "home", spark=spark, journal=url) as ps:
        table = ps.sql("SELECT name FROM system.definitions").table
        assert table is not None
        assert json.dumps(table.to_pylist()) == '[{"name": "s"}]'


def cut_off(url: str) -> None:
    """End the sessions of whoever has the lease."""
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
