"""Changes of a table: the rows as they are, then each change once, whoever dies."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from pyspark.sql import SparkSession

from penstock.clock import WallClock
from penstock.engine.interfaces.interface import Interface, Surroundings
from penstock.engine.interfaces.received.messages import Message
from penstock.engine.interfaces.received.postgres import PostgresChanges
from penstock.errors import BadOptionError, NotAllowedError
from penstock.model.definitions import Connector, Option, Secret, StreamDefinition
from penstock.model.schema import Column, Schema
from tests.contracts.source_laws import (
    FRESH_SOURCE_LAWS,
    ROWS,
    SOURCE_LAWS,
    Case,
    Source,
    drained_of,
    source_of,
)
from tests.engine.mqtt.places import until
from tests.engine.postgres.places import LOOPBACK, Database
from tests.examples import IS_WHOLE
from tests.servers.postgres import PostgresServer
from tests.unit.model.arrow_twin import arrow_without_spark

ROOT = Path(__file__).parents[3]
KILLS = 30 if IS_WHOLE else 2
SOON = timedelta(milliseconds=20)
CARS = "CREATE TABLE cars (ts timestamptz, id text, mph int)"
KEYED = "ALTER TABLE cars ADD PRIMARY KEY (id)"
ADDED = "INSERT INTO cars SELECT nextval('numbers') FROM generate_series(1, 3)"
PUBLISH = 'CREATE PUBLICATION "Changed" FOR TABLE cars'


@pytest.fixture
def database(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    found = Database(postgres.database(), monkeypatch)
    make(found, CARS, PUBLISH)
    yield found
    make(
        found,
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
        "WHERE database = current_database()",
    )


def make(database: Database, *statements: str) -> None:
    with psycopg.connect(database.url, autocommit=True) as client:
        for each in statements:
            client.execute(each)  # type: ignore[arg-type]  # a test's own


def put(database: Database, at: int, count: int) -> None:
    with psycopg.connect(database.url) as client:
        for row in ROWS[at : at + count]:
            client.execute("INSERT INTO cars VALUES (%(ts)s, %(id)s, %(mph)s)", row)


def connector(database: Database, **more: Option) -> Connector:
    given: dict[str, Option] = {"table": "cars", "publication": "Changed", "every": SOON}
    return database.connector(**(given | more))


@pytest.fixture
def case(database: Database) -> Case:
    put(database, 0, 3)

    def feed(interface: Interface) -> None:
        assert isinstance(interface, PostgresChanges)
        for at in range(3, 12, 3):
            until(lambda at=at: interface._log.rows == at)
            put(database, at, 3)

    return Case(lambda _: connector(database, rows_per_train=3), feed, ends=False, allowed=LOOPBACK)


@pytest.mark.spark
def test_it_keeps_the_laws_of_what_was_drained(
    case: Case, tmp_path: Path, spark: SparkSession
) -> None:
    drained = drained_of(source_of(case, tmp_path, spark), spark)
    for law in SOURCE_LAWS:
        law(drained)


@pytest.mark.spark
@pytest.mark.parametrize("law", FRESH_SOURCE_LAWS, ids=lambda law: law.__name__)
def test_a_fresh_source_keeps(
    law: Callable[[Source], None], case: Case, tmp_path: Path, spark: SparkSession
) -> None:
    law(source_of(case, tmp_path, spark))


def closed(home: Path, source: Connector) -> PostgresChanges:
    """Return a closed source, whose log is looked at: nothing is parsed."""
    schema = Schema((Column("id", "string"),))
    around = Surroundings(cast(Any, None), WallClock(), home, lambda: LOOPBACK)
    with arrow_without_spark():
        made = PostgresChanges(StreamDefinition("s", schema, source), around)
    made._reader.open = lambda: None  # type: ignore[method-assign]
    return made


def kept(source: PostgresChanges) -> list[Message]:
    """Return what came since it was last asked."""
    found: list[Message] = []
    while (offer := source._log.next()) is not None:
        rows = source._log.read(offer.boundary).rows
        found += [
            Message(*(each[name] for name in Message._fields))
            for each in rows.to_pylist()  # type: ignore[union-attr]
        ]
    return found


@pytest.fixture
def source(database: Database, tmp_path: Path) -> Iterator[PostgresChanges]:
    with arrow_without_spark():
        made = closed(tmp_path / "home", connector(database))
        yield made
        made.close()


def test_rows_as_they_are_then_changes_in_the_order_of_commits(
    database: Database, source: PostgresChanges
) -> None:
    make(database, KEYED, "INSERT INTO cars VALUES (now(), 'a', 1)")
    source.open(None)
    until(lambda: source._log.rows == 1)
    make(
        database,
        "INSERT INTO cars VALUES ('2026-01-01 12:00:00.5+00', 'b', NULL)",
        "UPDATE cars SET mph = 7 WHERE id = 'b'",
        "BEGIN; INSERT INTO cars VALUES (NULL, 'gone', 0); ROLLBACK",
        "DELETE FROM cars WHERE id = 'a'",
        "CREATE TABLE other (id int); INSERT INTO other VALUES (1)",
        "TRUNCATE cars",
    )
    until(lambda: source._log.rows == 5)
    came = kept(source)
    assert [each.origin for each in came] == ["snapshot", "insert", "update", "delete", ""]
    rows = [json.loads(each.payload) for each in came[1:4]]
    assert rows == [
        {"ts": "2026-01-01T12:00:00.5Z", "id": "b", "mph": None},
        {"ts": "2026-01-01T12:00:00.5Z", "id": "b", "mph": 7},
        {"ts": None, "id": "a", "mph": None},
    ]
    assert "truncated" in str(came[4].gap)


def test_the_slot_is_told_what_nobody_needs_any_more(
    database: Database, source: PostgresChanges
) -> None:
    def told() -> object:
        with psycopg.connect(database.url) as client:
            return client.execute(
                "SELECT confirmed_flush_lsn FROM pg_replication_slots "
                "WHERE database = current_database()"
            ).fetchone()

    source.open(None)
    until(lambda: told() is not None)
    before = told()
    put(database, 0, 3)
    until(lambda: source._log.rows == 3)
    until(lambda: told() != before)


def slots(database: Database) -> list[str]:
    with psycopg.connect(database.url) as client:
        found = client.execute(
            "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()"
        )
        return [str(row[0]) for row in found.fetchall()]


def test_a_large_value_that_is_not_told_again_is_a_gap_unless_the_table_tells_all(
    database: Database, source: PostgresChanges
) -> None:
    large = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 3000) n)"
    make(database, KEYED, "INSERT INTO cars VALUES (now(), 'a', 1)")
    make(database, "ALTER TABLE cars ADD COLUMN notes text", f"UPDATE cars SET notes = {large}")
    source.open(None)
    until(lambda: source._log.rows == 1)
    make(database, "UPDATE cars SET mph = 2", "ALTER TABLE cars REPLICA IDENTITY FULL")
    make(database, "UPDATE cars SET mph = 3")
    until(lambda: source._log.rows == 3)
    _, gap, whole = kept(source)
    assert "REPLICA IDENTITY FULL" in str(gap.gap)
    row = json.loads(whole.payload)
    assert (row["mph"], len(row["notes"])) == (3, 96_000)


def test_a_slot_or_a_publication_that_is_not_there_is_told(
    database: Database, source: PostgresChanges, tmp_path: Path
) -> None:
    source.open(None)
    until(lambda: bool(slots(database)))
    put(database, 0, 1)
    until(lambda: source._log.rows == 1)
    source.close()
    make(
        database,
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
        "WHERE database = current_database()",
    )
    source.open(None)
    until(lambda: source._failure is not None)
    assert "changes are lost" in str(source._failure)
    source.close()
    other = closed(tmp_path / "other", connector(database, publication="nowhere"))
    other.open(None)
    until(lambda: other._failure is not None)
    assert "CREATE PUBLICATION nowhere" in str(other._failure)
    other.close()


def test_a_server_that_nobody_allowed_is_not_asked(database: Database, tmp_path: Path) -> None:
    with pytest.raises(NotAllowedError):
        closed(tmp_path / "home", connector(database, host="192.0.2.1")).open(None)


def test_bad_options_are_told_before_anything_is_opened(database: Database) -> None:
    schema = Schema((Column("id", "string"),))
    for options in ({"password": "plain"}, {"change_column": "id"}, {"publication": ""}):
        given = connector(database, **cast(Any, options))
        with pytest.raises(BadOptionError):
            PostgresChanges.check(StreamDefinition("s", schema, given))


def test_a_server_that_dies_and_comes_back_gives_every_change_once(
    postgres: PostgresServer, database: Database, source: PostgresChanges
) -> None:
    source.open(None)
    until(lambda: bool(slots(database)))
    for at in range(0, 12, 4):
        put(database, at, 4)
        postgres.kill()
        postgres.start()
    until(lambda: source._log.rows >= 12)
    assert [json.loads(each.payload)["id"] for each in kept(source)] == [r["id"] for r in ROWS]


@pytest.mark.timeout(1800)  # with thirty lives
def test_a_reader_that_is_killed_again_and_again_has_every_change_once(
    database: Database, tmp_path: Path
) -> None:
    home, stop = tmp_path / "home", threading.Event()
    make(database, "CREATE SEQUENCE numbers", "DROP TABLE cars", "CREATE TABLE cars (n int)")
    make(database, 'DROP PUBLICATION "Changed"', PUBLISH)

    def write() -> None:
        with psycopg.connect(database.url, autocommit=True) as client:
            while not stop.wait(0.002):
                client.execute(ADDED)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        told = [str(database.options[name]) for name in ("port", "database", "user")]
        for life in range(KILLS):
            reader = subprocess.Popen(
                [sys.executable, "-m", "tests.engine.postgres.test_changes", str(home), *told],
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
                stdout=subprocess.PIPE,
            )
            assert reader.stdout is not None
            with reader.stdout as said:
                assert said.readline() == b"came\n"
                time.sleep(0.017 * (life % 7))
                reader.kill()
                reader.wait()
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    with psycopg.connect(database.url) as client:
        expected = sorted(row[0] for row in client.execute("SELECT n FROM cars").fetchall())
    with arrow_without_spark():
        source = closed(home, connector(database))
        source.open(None)
        until(lambda: source._log.rows >= len(expected))
        found = sorted(json.loads(each.payload)["n"] for each in kept(source))
        source.close()
    assert found == expected


def receive(home: Path, port: str, name: str, user: str) -> None:
    """Receive until it is killed, and say when something has come."""
    options: dict[str, Option] = {
        "host": "127.0.0.1",
        "port": int(port),
        "database": name,
        "user": user,
        "password": Secret("PG"),
        "table": "cars",
        "publication": "Changed",
        "every": SOON,
    }
    source = closed(home, Connector("postgres", tuple(options.items())))
    source.open(None)
    seen = source._log.rows
    while True:
        if source._log.rows > seen:
            sys.stdout.write("came\n")
            sys.stdout.flush()
        time.sleep(0.001)


if __name__ == "__main__":
    with arrow_without_spark():
        receive(Path(sys.argv[1]), *sys.argv[2:])
