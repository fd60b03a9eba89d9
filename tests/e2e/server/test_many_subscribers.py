"""Two hundred subscribers at once, five of which read nothing for a while."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.e2e.server.served import PATIENCE, Served, served, sql

pytestmark = pytest.mark.spark
SUBSCRIBERS, SLOW, BEHIND = 200, 5, 200
PUSHES, ROWS = 30, 40
TEXT = "x" * 500  # so that what a slow one leaves does not fit into the sockets' buffers
ROW = re.compile(rb"id: (\d+-\d+)\ndata: (\{.*?\})\n\n")


class Reader:
    """One subscriber, by a plain connection."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int]] = []
        self._rest = b""

    async def open(self, served: Served) -> None:
        host, _, port = served.url.removeprefix("http://").partition(":")
        self._reader, self._writer = await asyncio.open_connection(host, int(port), limit=1 << 12)
        head = f"GET /v1/queries/q/rows HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"
        self._writer.write(head.encode())
        assert b"200 OK" in await self._reader.readuntil(b"\r\n\r\n")

    async def read(self, enough: int) -> None:
        """Read until there are so many rows."""
        while len(self.rows) < enough:
            part = await asyncio.wait_for(self._reader.read(1 << 16), PATIENCE)
            assert part, f"it ended with {len(self.rows)} rows"
            # The frames of chunked encoding stand between events, which are sent whole.
            self._rest = re.sub(rb"\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n|\r\n$", b"", self._rest + part)
            end = self._rest.rfind(b"\n\n") + 2 if b"\n\n" in self._rest else 0
            for position, data in ROW.findall(self._rest[:end]):
                self.rows.append((position.decode(), json.loads(data)["n"]))
            self._rest = self._rest[end:]

    def close(self) -> None:
        self._writer.close()


async def scene(server: Served) -> list[Reader]:
    readers = [Reader() for _ in range(SUBSCRIBERS)]
    for reader in readers:
        await reader.open(server)
    quick, slow = readers[SLOW:], readers[:SLOW]
    expected = PUSHES * ROWS
    reading = [asyncio.ensure_future(reader.read(expected)) for reader in quick]

    def push(number: int) -> None:
        rows = [{"n": number * ROWS + at, "text": TEXT} for at in range(ROWS)]
        server.connection.push("s", rows)

    for number in range(PUSHES):
        await asyncio.to_thread(push, number)
    await asyncio.gather(*reading)  # the slow ones hold up nobody
    waiting = [each._subscriber_queue._queued for each in server.service._subscriptions]
    assert len(waiting) == SUBSCRIBERS
    assert max(waiting) <= BEHIND
    await asyncio.gather(*(reader.read(expected) for reader in slow))
    for reader in readers:
        reader.close()
    return readers


def test_slow_subscribers_hold_up_nobody_and_lose_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    with served(tmp_path / "home", spark, {"limits_behind": BEHIND}) as server:
        with server.client() as client:
            sql(client, "CREATE STREAM s (n BIGINT, text STRING) FROM push()")
            sql(client, "CREATE QUERY q AS SELECT n, text FROM s")
        readers = asyncio.run(scene(server))
        for reader in readers:
            assert [n for _, n in reader.rows] == list(range(PUSHES * ROWS))
            assert len({position for position, _ in reader.rows}) == PUSHES * ROWS
