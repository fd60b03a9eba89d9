"""PostgreSQL's protocol over a home that runs, with its tokens."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest
import sqlalchemy
from psycopg import generators
from pyspark.sql import SparkSession

from penstock.server.access.caller import LOCAL, Role
from tests.e2e.pg.conftest import Psql
from tests.e2e.server.served import Served, served
from tests.e2e.support import until

pytestmark = pytest.mark.spark
ROLES = {"admin": (Role.ADMIN, None), "read": (Role.READ, None), "other": (Role.READ, ["others"])}
SCRIPT = """
CREATE STREAM hits (ts TIMESTAMP, car STRING, mph INT, cost DECIMAL(10,2), tags ARRAY<STRING>)
    TIMESTAMP BY ts FROM push();
CREATE QUERY fast AS SELECT ts, car, mph FROM hits WHERE mph > 60
"""
AT = datetime(2026, 1, 2, 3, 4, 5, 600000, UTC)
ROW = (AT, "it's \\ 雨", 61, Decimal("12.50"), ["a b", "", None])
NAMES = ("ts", "car", "mph", "cost", "tags")
ENDLESS = "SELECT count(*) FROM range(100000000) a, range(100000000) b, hits"


@pytest.fixture(scope="module")
def server(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("served") / "home"
    with served(home, spark, {"pg_port": 0}, ROLES) as made:
        with _client(made, "admin") as client:
            client.execute(SCRIPT)
        made.connection.push("hits", [dict(zip(NAMES, ROW, strict=True))])
        with _client(made, "read") as client:  # until the row has come
            next(client.cursor().stream("SUBSCRIBE fast"))
        yield made


@pytest.fixture
def dsn(server: Served) -> str:
    host, _, port = server.pg.removeprefix("postgresql://").partition(":")
    return f"host={host} port={port} user=read password={server.tokens['read']}"


@pytest.fixture
def client(server: Served) -> Iterator[psycopg.Connection]:
    with _client(server, "read") as connection:
        yield connection


def _client(server: Served, role: str) -> psycopg.Connection:
    host, _, port = server.pg.removeprefix("postgresql://").partition(":")
    token = server.tokens[role]
    return psycopg.connect(host=host, port=port, user=role, password=token, autocommit=True)


@pytest.mark.parametrize("binary", [False, True])
def test_values_go_to_spark_and_come_back_as_they_are(
    client: psycopg.Connection, binary: bool
) -> None:
    mark = "%b" if binary else "%s"
    asked = (
        f"SELECT * FROM public.hits WHERE car = {mark} AND ts = {mark} AND mph > {mark} "
        f"AND cost >= {mark} AND tags = {mark}::text[] LIMIT {mark}"
    )
    values = (ROW[1], AT, 5, Decimal("12.49"), ROW[4], 3)
    assert client.cursor(binary=binary).execute(asked, values).fetchall() == [ROW]


def test_literals_mean_what_postgresql_says(client: psycopg.Connection) -> None:
    asked = """SELECT "car" AS "Car", 'a\\b''' AS b, E'\\t' AS t, $$x$$ AS x, mph::int8 AS m,
        extract(epoch from ts) AS e FROM hits WHERE car = 'it''s \\ 雨'"""
    cursor = client.execute(asked)
    assert cursor.fetchall() == [(ROW[1], "a\\b'", "\t", "x", 61, AT.timestamp())]
    assert [column.name for column in cursor.description or ()] == ["Car", "b", "t", "x", "m", "e"]


def test_a_time_series_is_asked_as_grafana_does(client: psycopg.Connection) -> None:
    asked = """SELECT floor(extract(epoch from ts)/300)*300 AS "time", avg(mph) AS "mph"
        FROM hits WHERE ts BETWEEN '2026-01-02T00:00:00Z' AND '2026-01-03T00:00:00Z'
        GROUP BY 1 ORDER BY 1"""
    assert client.execute(asked).fetchall() == [(AT.timestamp() // 300 * 300, 61.0)]


def test_a_query_is_followed_and_resumed(client: psycopg.Connection) -> None:
    rows = client.cursor().stream("SUBSCRIBE fast WITH POSITION")
    position, *row = next(rows)
    assert tuple(row) == ROW[:3]
    rows.close()
    with client.transaction(), client.cursor(name="c") as cursor:
        cursor.execute("SUBSCRIBE fast AFTER '0-0'")
        assert cursor.fetchone() == ROW[:3]
    assert position == "1-0"


def test_an_endless_select_is_cancelled(server: Served, client: psycopg.Connection) -> None:
    def cancel() -> None:
        until(lambda: "it does not run", lambda: bool(server.service.running(LOCAL)))
        client.cancel_safe()

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute(ENDLESS)
    cancelling.join()
    assert client.execute("SELECT count(*) FROM hits").fetchone() == (1,)


@pytest.mark.parametrize(
    ("asked", "state", "position"),
    [
        ("SELECT car,\n nope FROM hits", "42703", 14),
        ("SELECT 'x\\y', \"car\" FROM nowhere", "42P01", None),
        ("SELECT * FROM hits WHRE mph", "42601", 20),
        ("CREATE QUERY slow AS SELECT * FROM hits", "42501", 1),
        ("SELECT reflect('java.lang.System', 'exit')", "42501", None),
        ("SUBSCRIBE nothing", "42P01", None),
    ],
)
def test_errors_have_codes_and_places(
    client: psycopg.Connection, asked: str, state: str, position: int | None
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(asked)
    assert caught.value.sqlstate == state
    if position is not None:
        assert caught.value.diag.statement_position == str(position)


def test_a_token_reaches_its_streams_alone(server: Served) -> None:
    with _client(server, "other") as client:
        for asked in ("SELECT * FROM hits", "SUBSCRIBE fast", "COPY hits TO STDOUT"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                client.execute(asked)


def test_psql_and_sqlalchemy_find_their_way(server: Served, psql: Psql, dsn: str) -> None:
    assert "public|fast|view|read" in psql("\\d", options=("-A", "-t"))
    assert "system" in psql("\\d system.queries")
    engine = sqlalchemy.create_engine(
        "postgresql+psycopg://", creator=lambda: _client(server, "read")
    )
    try:
        hits = sqlalchemy.Table("hits", sqlalchemy.MetaData(), autoload_with=engine)
        wanted: Any = sqlalchemy.select(hits.c.car, sqlalchemy.func.count()).group_by(hits.c.car)
        with engine.connect() as connection:
            assert connection.execute(wanted.limit(5)).fetchall() == [(ROW[1], 1)]
    finally:
        engine.dispose()
    assert dsn


def test_a_statement_is_described_before_it_runs(client: psycopg.Connection) -> None:
    low = client.pgconn
    low.send_prepare(b"described", b"SELECT car, mph FROM hits WHERE mph > $1::int4 LIMIT $2")
    client.wait(generators.execute(low))
    low.send_describe_prepared(b"described")
    [told] = client.wait(generators.execute(low))
    assert [told.param_type(each) for each in range(told.nparams)] == [23, 20]
    assert [(told.fname(each), told.ftype(each)) for each in range(told.nfields)] == [
        (b"car", 25),
        (b"mph", 23),
    ]
