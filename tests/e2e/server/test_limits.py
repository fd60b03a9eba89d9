"""Limits that are reached while others are served: each is told, and nothing of it is done."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from pyspark.sql import SparkSession

from tests.e2e.server.served import PATIENCE, Served, served, sql
from tests.e2e.support import until

pytestmark = pytest.mark.spark
CONNECTIONS = 12
LIMITS = {
    "limits_statements": 1,
    "limits_waiting": 1,
    "limits_statement_timeout": "1s",
    "limits_upload": "2s",
    "limits_connections": CONNECTIONS,
}
ENDLESS = "SELECT count(*) AS n FROM range(100000000000) WHERE id % 7 = hash(id) % 5"


@pytest.fixture(scope="module")
def server(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("limited") / "home", spark, LIMITS) as made:
        with made.client() as client:
            sql(client, "CREATE STREAM s (id BIGINT) FROM push()")
        yield made


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def ask(server: Served, text: str) -> httpx.Response:
    with server.client() as client:
        return client.post("/v1/sql", json={"sql": text})


def test_a_select_that_takes_too_long_is_ended(server: Served) -> None:
    began = time.monotonic()
    assert code(ask(server, ENDLESS)) == (504, "TIMED_OUT")
    assert time.monotonic() - began < PATIENCE / 2


@contextmanager
def held(server: Served, statements: int) -> Iterator[None]:
    """Have so many statements in their lane that take as long as this lasts."""
    lane, go_on = server.service.threads.statements, threading.Event()

    def hold() -> None:
        asyncio.run(lane.do(go_on.wait, PATIENCE))

    holding = [threading.Thread(target=hold) for _ in range(statements)]
    for each in holding:
        each.start()
    until(lambda: f"{lane._there} statements", lambda: lane._there == statements)
    try:
        yield
    finally:
        go_on.set()
        for each in holding:
            each.join(PATIENCE)


def test_more_statements_than_may_wait_are_refused_and_pushes_are_not(server: Served) -> None:
    with held(server, 2):
        refused = ask(server, "SELECT 1 AS n")
        assert code(refused) == (429, "TOO_MANY")
        assert int(refused.headers["retry-after"]) >= 1
        with server.client() as client:
            pushed = client.post("/v1/streams/s/rows", json=[{"id": 1}])
            assert pushed.json() == {"accepted": 1}
    until(lambda: "still refused", lambda: ask(server, "SELECT 1 AS n").status_code == 200)


def test_what_waits_for_its_turn_is_cancelled_at_once_and_never_done(server: Served) -> None:
    answers: list[httpx.Response] = []
    making = {"sql": "CREATE STREAM unmade (id INT) FROM push()"}

    def make() -> None:
        named = {"X-Request-Id": "waiting-1"}
        with server.client() as client:
            answers.append(client.post("/v1/sql", json=making, headers=named))

    with held(server, 1), server.client() as client:
        asking = threading.Thread(target=make)
        asking.start()

        def waiting() -> list[str]:
            return [each["id"] for each in client.get("/v1/statements").json()["statements"]]

        until(lambda: "nothing waits", lambda: waiting() == ["waiting-1"])
        assert client.delete("/v1/statements/waiting-1").status_code == 204
        asking.join(PATIENCE)
        assert [code(answer) for answer in answers] == [(409, "CANCELLED")]
        assert waiting() == []
        with pytest.raises(httpx.ReadTimeout):  # who waits no more makes room for others
            client.post("/v1/sql", json=making, timeout=1.0)
        until(lambda: "it waits still", lambda: waiting() == [])
    assert code(ask(server, "DESCRIBE unmade")) == (400, "UNKNOWN_NAME")


def test_a_body_that_does_not_come_is_not_waited_for(server: Served) -> None:
    host, _, port = server.url.removeprefix("http://").partition(":")
    source = server.connection.system.streams.push_source("s")
    before = source.rows
    with socket.create_connection((host, int(port)), PATIENCE) as slow:
        head = (
            f"POST /v1/streams/s/rows HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
            'Content-Type: application/json\r\nContent-Length: 9999\r\n\r\n[{"id": 1}'
        )
        slow.sendall(head.encode())
        told = b"".join(iter(lambda: slow.recv(1 << 16), b"")).decode()
    status, _, rest = told.partition("\r\n")
    assert status.split()[1] == "400"
    assert json.loads(rest.partition("\r\n\r\n")[2])["error"]["code"] == "BAD_REQUEST"
    assert source.rows == before


def test_more_connections_than_the_limit_are_refused_until_some_go(server: Served) -> None:
    host, _, port = server.url.removeprefix("http://").partition(":")
    with ExitStack() as stack:
        for _ in range(CONNECTIONS + 1):
            taken = stack.enter_context(socket.create_connection((host, int(port)), PATIENCE))
            taken.sendall(b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert taken.recv(8, socket.MSG_WAITALL) == b"HTTP/1.1"
        with server.client() as client:
            assert client.get("/health/live").status_code == 503

    def is_let_in() -> bool:
        with server.client() as client:
            return client.get("/health/live").status_code == 200

    until(lambda: "still refused", is_let_in)
