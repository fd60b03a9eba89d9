"""Tables from PostgreSQL: what is read, and when it is read anew."""

import time
from datetime import timedelta
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from penstock.clock import HandClock
from penstock.errors import BadOptionError, NotAllowedError, SourceError
from penstock.model.definitions import Option
from penstock.model.schema import Column, Schema
from tests.engine.postgres.places import Database
from tests.servers.postgres import PostgresServer
from tests.unit.model.arrow_twin import arrow_without_spark

PATIENCE = 30.0


@pytest.fixture
def database(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Database:
    return Database(postgres.database(), monkeypatch)


def make(database: Database, *statements: str) -> None:
    with psycopg.connect(database.url, autocommit=True) as client:
        for each in statements:
            client.execute(each)  # type: ignore[arg-type]  # a test's own


def test_a_query_is_read_with_postgresqls_types(database: Database) -> None:
    table = database.table(
        query="SELECT 1::smallint AS a, 1.50::numeric(5,2) AS b, interval '1 day' AS c, "
        "'{\"x\": 1}'::json AS d, NULL::text AS e, '' AS f, ARRAY['NaN'::float8, NULL] AS g -- end"
    )
    rows = table.read()
    assert rows.schema.types[:2] == [pa.int16(), pa.decimal128(5, 2)]
    (row,) = rows.to_pylist()
    assert (row["c"], row["d"], row["e"], row["f"]) == ("P1D", '{"x": 1}', None, "")
    assert row["g"][0] != row["g"][0]
    assert row["g"][1] is None


def test_a_table_without_rows_has_its_columns(database: Database) -> None:
    make(database, "CREATE TABLE cars (id int, name text)")
    assert database.table(table="cars").read().schema.names == ["id", "name"]


def test_declared_columns_are_read_alone_and_cast(database: Database) -> None:
    make(database, "CREATE TABLE cars (id int, name text, x float8[])")
    make(database, "INSERT INTO cars VALUES (1, 'a', '{1,2}')")
    schema = Schema((Column("id", "bigint"), Column("NAME", "string")))
    with arrow_without_spark():
        rows = database.table(schema, table="cars").read()
    assert (rows.schema.names, rows.schema.types[0]) == (["id", "NAME"], pa.int64())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"table": "nowhere"}, "nowhere"),
        ({"query": "SELECT 1 AS a, 2 AS a"}, "same name"),
        ({"query": "SELECT 1; DROP TABLE cars"}, "syntax"),
        ({"query": "SELECT 1) AS q; DROP TABLE cars; --"}, "syntax"),
        ({"query": "SELECT set_config('x.y', 'z', false), nextval('s')"}, "read-only"),
        ({"query": "SELECT pg_sleep(9)", "timeout": timedelta(seconds=0.3)}, "timeout"),
        ({"query": "SELECT DATE '10000-01-01' AS d"}, "10000-01-01"),
        ({"table": "cars", "port": 1}, "refused"),
    ],
)
def test_what_cannot_be_read_is_told(
    database: Database, options: dict[str, Option], words: str
) -> None:
    make(database, "CREATE TABLE cars (id int)", "CREATE SEQUENCE s")
    with pytest.raises(SourceError, match=words):
        database.table(**options).read()
    make(database, "SELECT * FROM cars")


def test_a_server_that_nobody_allowed_is_not_asked(database: Database) -> None:
    with pytest.raises(NotAllowedError):
        database.table(table="cars", host="192.0.2.1").read()


@pytest.mark.parametrize("options", [{}, {"table": "a", "query": "SELECT 1"}])
def test_a_table_and_a_query_exclude_each_other(
    database: Database, options: dict[str, Option]
) -> None:
    with pytest.raises(BadOptionError):
        database.table(**options)


def test_it_is_due_by_the_clock_and_not_again_before_it_was_read(database: Database) -> None:
    make(database, "CREATE TABLE cars (id int)")
    clock = HandClock(100.0)
    table = database.table(None, clock, table="cars", every=timedelta(seconds=10))
    first = table.seen()
    table.read()
    clock.sleep(9.0)
    assert table.seen() == first
    clock.sleep(1.0)
    due = table.seen()
    assert due != first
    clock.sleep(60.0)
    assert table.seen() == due
    table.read()
    assert table.seen() == due


def test_a_notification_makes_it_due_also_one_that_was_missed(
    postgres: PostgresServer, database: Database
) -> None:
    make(database, "CREATE TABLE cars (id int)")
    clock = HandClock(100.0)
    table = database.table(None, clock, table="cars", notify="cars changed")

    def due_after(event: Any) -> bool:
        table.read()
        before = table.seen()
        clock.sleep(2.0)
        event()
        deadline = time.monotonic() + PATIENCE
        while table.seen() == before and time.monotonic() < deadline:
            time.sleep(0.05)
        return table.seen() != before

    def restart() -> None:
        postgres.kill()
        postgres.start()

    assert due_after(lambda: None)  # it listens from now on: what was before is not known
    assert due_after(lambda: make(database, 'NOTIFY "cars changed"'))
    assert due_after(restart)
    table.close()
