"""The PostgreSQL that tests run against is a real one, and survives what they do to it."""

from pathlib import Path

import psycopg
import pytest

from tests.servers.postgres import PostgresServer, running_postgres


def test_databases_are_apart_and_empty(postgres: PostgresServer) -> None:
    one, other = postgres.database(), postgres.database()
    with psycopg.connect(one) as client:
        client.execute("CREATE TABLE a (n int)")
    with psycopg.connect(other) as client:
        assert client.execute("SELECT to_regclass('a')").fetchone() == (None,)


def test_nobody_comes_in_without_the_password(postgres: PostgresServer) -> None:
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres.database(), password="wrong")


def test_what_was_committed_is_there_after_a_death_on_the_same_port() -> None:
    with running_postgres() as server:
        url, place = server.database(), server.place
        with psycopg.connect(url) as client:
            client.execute("CREATE TABLE a AS SELECT 7 AS n")
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)
        server.start()
        with psycopg.connect(url) as client:
            assert client.execute("SELECT n FROM a").fetchone() == (7,)
            (pid,) = client.execute("SELECT pg_backend_pid()").fetchone() or (0,)
            assert Path(f"/proc/{pid}").stat().st_uid != 0
    assert not place.exists()
