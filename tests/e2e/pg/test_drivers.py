"""Drivers as their users call them: psycopg, SQLAlchemy and JDBC."""

import threading
from datetime import UTC, datetime
from decimal import Decimal

import psycopg
import pytest
import sqlalchemy

from tests.e2e.pg import jdbc
from tests.e2e.pg.conftest import FAST
from tests.e2e.pg.memory_home import MemoryHome
from tests.e2e.support import until

AT = datetime(2026, 1, 2, 3, 4, 5, 600000, UTC)
ROW = (AT, "a", 61, [1, 2, None], Decimal("12.50"), {"a": 1, "b": "x"})


@pytest.mark.parametrize("binary", [False, True])
def test_rows_come_with_their_types(client: psycopg.Connection, binary: bool) -> None:
    assert client.cursor(binary=binary).execute("SELECT * FROM hits").fetchall() == [ROW]


def test_parameters_become_literals_and_nothing_else(
    client: psycopg.Connection, home: MemoryHome
) -> None:
    values = (5, "o'b\\'; DROP", True, Decimal("-1.50"), AT, None, [1, 2])
    for mark in ("%s", "%b", "%t"):
        home.asked.clear()
        marks = ", ".join([mark] * len(values))
        client.execute(f"SELECT {marks} FROM hits", values)
        assert home.asked == [
            "SELECT 5, 'o\\'b\\\\\\'; DROP', TRUE, CAST('-1.50' AS DECIMAL(3, 2)), "
            "TIMESTAMP '2026-01-02 03:04:05.600000+00:00', NULL, array(1, 2) FROM hits"
        ]


def test_errors_are_classes_with_places(client: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable) as caught:
        client.execute("SELECT * FROM missing WHERE a = %s", ["x"])
    assert caught.value.diag.statement_position == "15"
    assert caught.value.diag.source_function == "UNKNOWN_NAME"


def test_a_failed_transaction_takes_nothing_before_its_end(client: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        client.execute("SELECT * FROM missing")
    assert client.info.transaction_status.name == "INERROR"
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        client.execute("SELECT 1")
    client.rollback()
    assert client.info.transaction_status.name == "IDLE"
    assert client.execute("SELECT 1 AS one").fetchall() == [(1,)]


def test_rolling_changes_back_warns_that_they_stay(client: psycopg.Connection) -> None:
    told: list[str] = []
    client.add_notice_handler(lambda diagnostic: told.append(str(diagnostic.severity)))
    client.execute("CREATE QUERY q AS SELECT 1")
    client.rollback()
    assert told == ["NOTICE", "WARNING"]


def test_what_runs_can_be_cancelled_and_limited(
    client: psycopg.Connection, home: MemoryHome
) -> None:
    def cancel() -> None:
        until(
            lambda: "it does not run", lambda: bool(home.running)
        )  # what has not begun cannot be cancelled
        client.cancel_safe()  # cancel would hold this process's lock

    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute("SELECT WAIT")
    cancelling.join()
    client.rollback()
    client.execute("SET statement_timeout = '100ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute("SELECT WAIT")
    client.rollback()
    client.execute("SET statement_timeout = 0")
    assert client.execute("SELECT 1").fetchone() == (1,)


def test_a_query_is_followed_row_by_row(client: psycopg.Connection, home: MemoryHome) -> None:
    home.deliver("fast", FAST)
    rows = client.cursor().stream("SUBSCRIBE fast")
    assert next(rows) == ROW[:3]
    home.deliver("fast", FAST)
    assert next(rows) == ROW[:3]
    home.end()
    assert list(rows) == []


def test_following_resumes_behind_a_position(client: psycopg.Connection, home: MemoryHome) -> None:
    for _ in range(3):
        home.deliver("fast", FAST)
    with client.cursor(name="followed") as cursor:
        cursor.execute("SUBSCRIBE fast WITH POSITION AFTER '1-0'")
        assert [row[0] for row in cursor.fetchmany(2)] == ["2-0", "3-0"]


def test_a_client_that_goes_is_forgotten(dsn: str, home: MemoryHome) -> None:
    connection = psycopg.connect(dsn)
    connection.pgconn.send_query(b"SUBSCRIBE fast")
    until(lambda: "nobody follows", lambda: len(home.subscriptions) == 1)
    connection.close()
    until(lambda: "it is not released", lambda: home.released == 1)


def test_prepared_statements_run_again(client: psycopg.Connection) -> None:
    for _ in range(3):
        found = client.execute("SELECT car FROM hits WHERE mph > %s", [5], prepare=True)
        assert found.fetchall() == [ROW]
    client.execute("DEALLOCATE ALL")


def test_pipelines_are_answered_in_order(client: psycopg.Connection) -> None:
    with client.pipeline():
        cursors = [client.execute("SELECT * FROM hits WHERE mph > %s", [n]) for n in range(5)]
        assert [cursor.fetchall() for cursor in cursors] == [[ROW]] * 5


def test_copy_is_read_in_all_formats(client: psycopg.Connection) -> None:
    with client.cursor().copy("COPY hits TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(["timestamptz", "text", "int4", "int8[]", "numeric", "json"])
        assert list(copy.rows()) == [ROW]
    with client.cursor().copy("COPY (SELECT * FROM hits) TO STDOUT") as copy:
        copy.set_types(["timestamptz", "text", "int4", "int8[]", "numeric", "json"])
        assert list(copy.rows()) == [ROW]


def test_sqlalchemy_reflects_and_selects(port: int, home: MemoryHome) -> None:
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://me@127.0.0.1:{port}/penstock")
    try:
        seen = sqlalchemy.inspect(engine)
        assert (seen.get_table_names(), seen.get_view_names()) == (["hits"], ["fast"])
        assert seen.get_pk_constraint("hits")["constrained_columns"] == []
        assert (seen.get_foreign_keys("hits"), seen.get_indexes("hits")) == ([], [])
        assert seen.get_view_definition("fast") == home.relations_[1].definition
        hits = sqlalchemy.Table("hits", sqlalchemy.MetaData(), autoload_with=engine)
        assert [str(column.type) for column in hits.columns] == [
            "TIMESTAMP", "TEXT", "INTEGER", "ARRAY", "NUMERIC(10, 2)", "JSON",
        ]  # fmt: skip
        wanted = sqlalchemy.select(hits).where(hits.c.mph > 5, hits.c.car.in_(["a", "b"])).limit(5)
        with engine.connect() as connection:
            assert connection.execute(wanted).fetchall() == [ROW]
    finally:
        engine.dispose()
    asked = "WHERE hits.mph > 5::INT AND hits.car IN ('a'::STRING, 'b'::STRING) \n LIMIT 5"
    assert home.asked[-1].endswith(asked)


@pytest.mark.timeout(400)
def test_jdbc_makes_a_round_trip(port: int, home: MemoryHome) -> None:
    for _ in range(3):
        home.deliver("fast", FAST)
    url = f"jdbc:postgresql://127.0.0.1:{port}/penstock?user=me"
    done = jdbc.round_trip(url, "hits", "fast")
    assert done.stdout.splitlines() == [
        "relation hits TABLE stream",
        "relation fast VIEW query",
        "column ts timestamptz 1",
        "column car text 2",
        "column mph int4 3",
        "column xs _int8 4",
        "column d numeric 5",
        "column s json 6",
        "keys 0 0 0",
        "keywords slack,slide,stream,subscribe",
        "schemas 4 types true",
        *["row 2026-01-02T03:04:05.600Z a 61 12.50 [1, 2, null]"] * 7,
        "columns 6",
        "error 42P01",
        "followed a",
        "followed a",
        "followed a",
        "valid true",
    ], done.stderr
