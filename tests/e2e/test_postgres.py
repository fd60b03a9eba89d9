"""PostgreSQL from SQL: each row of a query once, whoever dies; its tables beside streams."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import NotAllowedError, SourceError
from tests.e2e.children import Child
from tests.e2e.support import PATIENCE, figures, finish, results, rows_of, until
from tests.engine.postgres.places import sql_options
from tests.examples import IS_WHOLE
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.spark
LIVES = 30 if IS_WHOLE else 2  # each of which is killed
ROWS = 40_000
SCRIPT = """
CREATE STREAM cars (ts TIMESTAMP, id BIGINT, mph INT) TIMESTAMP BY ts
  FROM generator(rows => {rows}, rate => 4000, id => n, mph => n % 97, rows_per_train => 200);
CREATE QUERY fast AS SELECT id, mph, ts FROM cars WHERE mph > 40
  INTO postgres({place}, table => 'fast', create => true);
CREATE QUERY last AS SELECT mph, count(*) AS n FROM cars [RANGE 1 SECOND] GROUP BY mph
  INTO postgres({place}, table => 'last', create => true, mode => 'upsert', key => 'mph');
"""


@pytest.fixture
def url(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    url = postgres.database()
    told: dict[str, Any] = conninfo_to_dict(url)
    monkeypatch.setenv("PENSTOCK_SECRET_PG", told["password"])
    return url


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark, hosts=["127.0.0.1"]) as connection:
        yield connection


def asked(url: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as client:
        cursor = client.execute(sql)  # type: ignore[arg-type]  # a test's own
        return cursor.fetchall() if cursor.description else []


def test_a_query_is_held_while_the_server_is_away_and_goes_on_with_every_row(
    ps: Connection, postgres: PostgresServer, url: str
) -> None:
    ps.script(
        "CREATE STREAM s (id BIGINT, x FLOAT VECTOR) FROM push();"
        "CREATE QUERY q AS SELECT * FROM s "
        f"INTO postgres({sql_options(url)}, table => 'made', create => true)"
    )
    ps.push("s", [{"id": 1, "x": [1.5, 2.5]}])
    until(ps, lambda: figures(ps, "q")["rows_out"] == 1)
    postgres.kill()
    ps.push("s", [{"id": 2, "x": None}])
    until(ps, lambda: figures(ps, "q")["state"] == "FAILED")
    cause = figures(ps, "q")["cause"]
    assert "SINK_FAILED" in cause
    assert "p@ss" not in cause
    postgres.start()
    ps.sql("RESUME QUERY q")
    until(ps, lambda: figures(ps, "q")["rows_out"] == 2)
    assert asked(url, "SELECT * FROM made ORDER BY id") == [(1, [1.5, 2.5]), (2, None)]


def test_what_the_operator_has_not_allowed_is_refused_at_create(
    spark: SparkSession, tmp_path: Path, url: str
) -> None:
    place = sql_options(url)
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.sql("CREATE STREAM s (id BIGINT) FROM push()")
        with pytest.raises(NotAllowedError):
            ps.sql(f"CREATE QUERY q AS SELECT * FROM s INTO postgres({place}, table => 't')")
        with pytest.raises(NotAllowedError):
            ps.sql(f"CREATE TABLE t FROM postgres({place}, table => 't')")


def test_a_table_follows_notifications_and_makes_no_version_of_the_same_rows(
    ps: Connection, url: str
) -> None:
    asked(url, "CREATE TABLE names (id bigint, name text)")
    asked(url, "INSERT INTO names VALUES (1, 'one')")
    with pytest.raises(SourceError):
        ps.sql(f"CREATE TABLE n FROM postgres({sql_options(url)}, table => 'nowhere')")
    ps.script(
        f"CREATE STREAM s (id BIGINT) FROM push();"
        f"CREATE TABLE n FROM postgres({sql_options(url)}, table => 'names', notify => 'names');"
        "CREATE QUERY q AS SELECT s.id, n.name FROM s JOIN n ON s.id = n.id"
    )
    until(ps, lambda: version(ps) == 1)
    ps.push("s", [{"id": 1}])
    until(ps, lambda: figures(ps, "q")["rows_out"] == 1)
    asked(url, "UPDATE names SET name = 'uno'")
    deadline = time.monotonic() + PATIENCE
    while version(ps) == 1 and time.monotonic() < deadline:
        asked(url, "NOTIFY names")
        time.sleep(0.3)
    ps.push("s", [{"id": 1}])
    until(ps, lambda: figures(ps, "q")["rows_out"] == 2)
    assert [row["name"] for row in results(ps, "q").to_pylist()] == ["one", "uno"]
    assert version(ps) == 2  # what is read anew and is the same makes no version


def version(ps: Connection) -> int:
    (row,) = rows_of(ps.sql("SHOW TABLES").table)
    assert not row["cause"], row
    return int(row["version"])


@pytest.mark.timeout(1800)
def test_killed_in_the_middle_it_has_every_row_once(
    postgres: PostgresServer, url: str, spark: SparkSession, tmp_path: Path
) -> None:
    script = SCRIPT.format(rows=ROWS, place=sql_options(url))
    pick = random.Random(7)
    for life in range(LIVES):
        told = {"home": str(tmp_path / "home"), "script": script if not life else "SHOW QUERIES"}
        child = Child(tmp_path / f"life-{life}", told | {"hosts": ["127.0.0.1"]})
        assert child.wait_for("standing"), child.errors()
        before = count(url)
        deadline = time.monotonic() + PATIENCE
        while count(url) <= before and not over(url) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(pick.random() * 0.7)
        if life == 0:
            postgres.kill()  # both at once
        child.kill()
        if life == 0:
            postgres.start()
        if over(url):
            break
    with penstock.connect(tmp_path / "home", spark=spark, hosts=["127.0.0.1"]) as ps:
        ps.sql("RESUME QUERY fast")
        ps.sql("RESUME QUERY last")
        finish(ps)
    expected = [(n, n % 97) for n in range(ROWS) if n % 97 > 40]
    assert asked(url, "SELECT id, mph FROM fast ORDER BY id") == expected
    assert len(asked(url, "SELECT * FROM last")) == 97


def count(url: str) -> int:
    there = asked(url, "SELECT to_regclass('fast')") != [(None,)]
    return int(asked(url, "SELECT count(*) FROM fast")[0][0]) if there else 0


def over(url: str) -> bool:
    return count(url) >= sum(n % 97 > 40 for n in range(ROWS))
