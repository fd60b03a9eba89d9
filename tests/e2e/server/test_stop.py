"""Stopping a server while clients are there that read nothing."""

import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.server.served import PATIENCE, Served, served, sql
from tests.e2e.support import until

pytestmark = pytest.mark.spark
ROWS, TEXT = 2_000, "x" * 5_000  # more than the sockets' buffers take
GRACE = 60.0
TO_WEBSOCKET = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


def waiting(server: Served) -> list[int]:
    """Return how many bytes each client has yet to take."""
    assert server.listeners._server is not None
    connections = server.listeners._server.server_state.connections
    return [each.transport.get_write_buffer_size() for each in list(connections)]


def test_subscribers_that_read_nothing_hold_up_no_stop(spark: SparkSession, tmp_path: Path) -> None:
    with served(tmp_path / "home", spark, {"limits_stop": GRACE}) as server, ExitStack() as stack:
        with server.client() as client:
            sql(client, "CREATE STREAM s (n BIGINT, text STRING) FROM push()")
            sql(client, "CREATE QUERY q AS SELECT n, text FROM s")
        server.connection.push("s", [{"n": n, "text": TEXT} for n in range(ROWS)])
        host, _, port = server.url.removeprefix("http://").partition(":")
        for upgrade in ("", TO_WEBSOCKET):
            deaf = stack.enter_context(socket.create_connection((host, int(port)), PATIENCE))
            head = f"GET /v1/queries/q/rows HTTP/1.1\r\nHost: {host}:{port}\r\n{upgrade}\r\n"
            deaf.sendall(head.encode())
            assert deaf.recv(8, socket.MSG_WAITALL) == b"HTTP/1.1"
        until(lambda: str(waiting(server)), lambda: sum(map(bool, waiting(server))) == 2)
        began = time.monotonic()
        server.service.stop()
        server.listeners.stop()
        assert time.monotonic() - began < GRACE / 2
