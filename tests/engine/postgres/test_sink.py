"""The sink of PostgreSQL against a real server: every row once, whoever dies."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from penstock.engine.sinks.postgres.postgres import PostgresSink
from penstock.engine.sinks.sink import Delivery
from penstock.errors import (
    BadOptionError,
    NotAllowedError,
    PenstockError,
    SinkError,
    TypeMismatchError,
    UnknownSecretError,
)
from penstock.model.definitions import Connector, Option, QueryDefinition, Secret
from tests.contracts.sink_laws import SINK_LAWS, SinkCase
from tests.engine.postgres.places import LOOPBACK, Database
from tests.examples import IS_WHOLE
from tests.servers.postgres import PostgresServer

ROOT = Path(__file__).parents[3]
KILLS = 30 if IS_WHOLE else 2
MOST_KILLS = 200 if IS_WHOLE else 12  # of the lines of the sink's code


@pytest.fixture
def database(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Database:
    return Database(postgres.database(), monkeypatch)


def rows(*numbers: int) -> pa.Table:
    return pa.table({"id": list(numbers), "name": [f"car {n}" for n in numbers]})


def asked(database: Database, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database.url, autocommit=True) as client:
        cursor = client.execute(sql)  # type: ignore[arg-type]  # a test's own
        return cursor.fetchall() if cursor.description else []


def test_every_type_is_mapped_and_comes_back_as_it_was(database: Database) -> None:
    noon = datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC)
    table = pa.table(
        {
            "flag": [True, None, False],
            "small": pa.array([1, None, -2], pa.int16()),
            "whole": pa.array([1, None, -2], pa.int32()),
            "long": pa.array([2**62, None, -1], pa.int64()),
            "real": pa.array([1.5, None, float("-inf")], pa.float32()),
            "double": [0.1, None, float("inf")],
            "money": pa.array([Decimal("1.50"), None, Decimal("-0.01")], pa.decimal128(10, 2)),
            'te"x;t': ["tab\tline\nback\\slash '\"", None, ""],
            "words": ["\\N", "NULL", "\\."],
            "raw": [b"\x00\\x", None, b""],
            "at": pa.array([noon, None, noon], pa.timestamp("us", "UTC")),
            "naive": pa.array([noon.replace(tzinfo=None), None, noon.replace(year=1, tzinfo=None)]),
            "day": [date(2026, 1, 1), None, date(1, 1, 1)],
            "whole_list": pa.array([[1, None], None, []], pa.list_(pa.int64())),
            "text_list": [['quo"te\\', "NULL", None, "", "two words", "{,}"], None, []],
            "real_list": pa.array([[1.5, float("inf")], None, []], pa.list_(pa.float32())),
        }
    )
    sink = database.sink(table="made", create=True)
    sink.open()
    sink.write(Delivery("fast", 1, table))
    sink.close()
    assert database.table(table="made").read().to_pydict() == table.to_pydict()


def test_what_is_nested_becomes_documents_and_intervals_stay_intervals(database: Database) -> None:
    table = pa.table(
        {
            "point": [{"x": 1, "text": "a\\\t"}],
            "counts": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
            "grid": [[[1], [2, 3]]],
            "took": [timedelta(seconds=-90.5)],
        }
    )
    sink = database.sink(table="made", create=True)
    sink.open()
    sink.write(Delivery("fast", 1, table))
    sink.close()
    expected = ({"x": 1, "text": "a\\\t"}, {"a": 1}, [[1], [2, 3]], timedelta(seconds=-90.5))
    assert asked(database, "SELECT point, counts, grid, took FROM made") == [expected]


def test_a_type_that_postgresql_has_not_is_refused_with_the_column(database: Database) -> None:
    strange = pa.table({"id": [1], "odd": pa.array([1], pa.uint64())})
    sink = database.sink(table="made", create=True)
    sink.open()
    with pytest.raises(TypeMismatchError, match="odd"):
        sink.write(Delivery("fast", 1, strange))
    sink.close()
    assert asked(database, "SELECT to_regclass('made')") == [(None,)]


def test_a_number_that_comes_again_changes_nothing(database: Database) -> None:
    for given in ((1, rows(1, 2)), (2, rows(3)), (1, rows(1, 2)), (2, rows(3)), (3, rows(4))):
        sink = database.sink(table="cars", create=True)
        sink.open()
        sink.write(Delivery("fast", *given))
        sink.close()
    assert asked(database, "SELECT id FROM cars ORDER BY id") == [(1,), (2,), (3,), (4,)]


def test_other_homes_and_queries_have_numbers_of_their_own(database: Database) -> None:
    for home, query in (("one", "fast"), ("two", "fast"), ("one", "slow")):
        sink = database.sink(home, query, table="cars", create=True)
        sink.open()
        sink.write(Delivery(query, 1, rows(1)))
        sink.close()
    assert asked(database, "SELECT count(*) FROM cars") == [(3,)]


def test_upsert_keeps_the_last_row_of_each_key(database: Database) -> None:
    sink = database.sink(table="cars", create=True, mode="upsert", key="id")
    sink.open()
    twice = pa.table({"id": [1, 2, 1], "name": ["a", "b", "c"]})
    sink.write(Delivery("fast", 1, twice))
    sink.write(Delivery("fast", 2, pa.table({"id": [2, 3], "name": ["d", None]})))
    sink.close()
    assert asked(database, "SELECT * FROM cars ORDER BY id") == [(1, "c"), (2, "d"), (3, None)]


def test_upsert_leaves_columns_alone_that_the_query_has_not(database: Database) -> None:
    asked(database, "CREATE TABLE cars (id bigint PRIMARY KEY, name text, owner text DEFAULT 'x')")
    asked(database, "INSERT INTO cars VALUES (1, 'a', 'me')")
    sink = database.sink(table="cars", mode="upsert", key="id")
    sink.open()
    sink.write(Delivery("fast", 1, rows(1, 2)))
    sink.close()
    expected = [(1, "car 1", "me"), (2, "car 2", "x")]
    assert asked(database, "SELECT * FROM cars ORDER BY id") == expected


@pytest.mark.parametrize(
    ("made", "options", "words"),
    [
        ("", {}, "no table public.cars"),
        ("CREATE TABLE cars (id int)", {}, "no column name"),
        ("CREATE TABLE cars (id int, name text, owner text NOT NULL)", {}, "owner"),
        ("CREATE TABLE cars (id uuid, name text)", {}, "column id"),
        ("CREATE TABLE cars (id int, name text)", {"mode": "upsert", "key": "id"}, "ON CONFLICT"),
        ("CREATE TABLE cars (id int, name text)", {"mode": "upsert", "key": "zip"}, "column zip"),
        ("", {"schema": "nowhere", "create": True}, "nowhere"),
        ("CREATE VIEW cars AS SELECT 1 AS id, 'a' AS name", {}, "view"),
    ],
)
def test_what_does_not_fit_is_told_and_nothing_of_it_stays(
    database: Database, made: str, options: dict[str, Option], words: str
) -> None:
    if made:
        asked(database, made)
    sink = database.sink(**{"table": "cars", **options})
    with pytest.raises(SinkError, match=words) as caught:
        _put(sink, Delivery("fast", 1, rows(1)))
    assert "p@ss" not in str(caught.value)
    sink.close()
    if made:  # it is set right, and the same number is taken
        asked(database, "DROP VIEW IF EXISTS cars" if "VIEW" in made else "DROP TABLE cars")
    right = database.sink(table="cars", create=True)
    _put(right, Delivery("fast", 1, rows(1)))
    right.close()
    assert asked(database, "SELECT count(*) FROM cars") == [(1,)]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"port": 1}, SinkError),
        ({"database": "nowhere"}, SinkError),
        ({"user": "nobody"}, SinkError),
        ({"password": Secret("NOBODYS")}, UnknownSecretError),
        ({"host": "192.0.2.1"}, NotAllowedError),
    ],
)
def test_a_place_that_is_none_is_told_without_the_password(
    database: Database, options: dict[str, Option], error: type[PenstockError]
) -> None:
    sink = database.sink(**{"table": "cars", **options})
    with pytest.raises(error) as caught:
        sink.open()
    assert "p@ss" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"table": "cars"},
        {"table": "cars", "password": "plain"},
        {"table": "cars", "mode": "upsert"},
        {"table": "cars", "key": "id"},
        {"table": "cars", "mode": "replace"},
    ],
)
def test_bad_options_are_told_before_anything_is_opened(options: dict[str, Option]) -> None:
    place: dict[str, Option] = {"host": "h", "database": "d", "user": "u"}
    if options == {"table": "cars"}:
        place.pop("host")
    sink = Connector("postgres", tuple((place | options).items()))
    with pytest.raises(BadOptionError):
        PostgresSink.check(QueryDefinition("fast", "SELECT 1", sink=sink))


def test_deliveries_that_the_journal_has_lost_are_not_taken_for_others(database: Database) -> None:
    sink = database.sink(table="cars", create=True)
    sink.expect(0)
    sink.open()
    for number in (1, 2, 3):
        sink.write(Delivery("fast", number, rows(number)))
    sink.close()
    sink.open()  # it has written them itself
    sink.close()
    older = database.sink(table="cars", create=True)
    older.expect(1)
    with pytest.raises(SinkError, match="delivery 3"):
        older.open()
    asked(database, "UPDATE penstock_deliveries SET number = 1")
    older.open()
    older.close()


def test_a_server_that_dies_and_comes_back_has_every_row_once(
    postgres: PostgresServer, database: Database
) -> None:
    sink = database.sink(table="cars", create=True)
    for number in range(1, 13):
        if number % 4 == 0:
            postgres.kill()
            with suppress(SinkError):  # its backend may live for a moment longer
                _put(sink, Delivery("fast", number, rows(number)))
            postgres.start()
            with suppress(SinkError):  # even now, and answers that it is going
                _put(sink, Delivery("fast", number, rows(number)))
        _put(sink, Delivery("fast", number, rows(number)))
    sink.close()
    assert asked(database, "SELECT id FROM cars ORDER BY id") == [(n,) for n in range(1, 13)]


def test_a_server_that_hangs_holds_nobody_up_for_long(database: Database) -> None:
    sink = database.sink(table="cars", create=True, timeout=timedelta(seconds=0.5))
    _put(sink, Delivery("fast", 1, rows(1)))
    ((pid,),) = asked(
        database, "SELECT pid FROM pg_stat_activity WHERE application_name = 'penstock'"
    )
    os.kill(pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(SinkError, match="did not answer"):
            sink.write(Delivery("fast", 2, rows(2)))
        assert time.monotonic() - began < 30
    finally:
        os.kill(pid, signal.SIGCONT)
    _put(sink, Delivery("fast", 2, rows(2)))
    sink.close()
    assert asked(database, "SELECT count(*) FROM cars") == [(2,)]


def test_a_writer_that_is_killed_again_and_again_leaves_every_row_once(
    database: Database, tmp_path: Path
) -> None:
    told = [str(tmp_path / "journal"), *map(str, database.options.values())][:5]
    lives = 0
    while lives < KILLS:
        writer = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.postgres.writer", *told],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        with writer.stdout as said:
            said.readline()  # it writes
            time.sleep(0.013 * (lives % 7))
            writer.kill()
            writer.wait()
        lives += 1
    written = asked(database, "SELECT id, count(*) FROM cars GROUP BY id ORDER BY id")
    ((last,),) = asked(database, "SELECT number FROM penstock_deliveries")
    assert last >= lives  # each wrote one at least, and went on behind it
    assert written == [(n, 3) for n in range(1, last + 1)]


@pytest.mark.parametrize("law", SINK_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("mode", ["insert", "upsert"])
def test_the_sink_keeps(
    law: Callable[[SinkCase, Path], None], mode: str, database: Database, tmp_path: Path
) -> None:
    first = database.sink(table="any")  # who comes first makes the table of deliveries
    first.open()
    first.close()
    key: dict[str, Option] = {"key": "car"} if mode == "upsert" else {}

    def definition(place: int) -> QueryDefinition:
        into = database.connector(table=f"cars_{place}", create=True, mode=mode, **key)
        return QueryDefinition(f"q{place}", "SELECT 1", sink=into)

    def look(place: int) -> object:
        return asked(database, f"SELECT car, mph FROM cars_{place} ORDER BY car")

    law(SinkCase(definition, look, LOOPBACK, most_kills=MOST_KILLS), tmp_path)


def _put(sink: Any, delivery: Delivery) -> None:
    """Write as a query does: opening what is not open."""
    if sink._target is None:
        sink.open()
    sink.write(delivery)
