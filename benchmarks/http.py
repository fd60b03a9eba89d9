"""HTTP beside the embedded interface: from push to subscriber, and pushes a second.

Both ways are over one system, in turns: every other tuple is pushed by the one and the other, and
each way has a subscriber of its own. Client and server share one process, which is the worse case.
"""

import http.client
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import penstock
from benchmarks.measurement import Effort, Outcome, quantile
from penstock.client import Connection
from penstock.server.configuration import resolved
from penstock.server.serve import Listeners
from penstock.server.service import Service

A_SECOND = 100
COLUMNS = ("what", "embedded", "HTTP", "difference or ratio")
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"
SCRIPT = """
CREATE STREAM pushed (n BIGINT, v DOUBLE, name STRING) FROM push();
CREATE QUERY answer AS SELECT n, v * 2 AS w FROM pushed WHERE v >= 0;
CREATE STREAM plain (n BIGINT, v DOUBLE, name STRING) FROM push();
"""


def http_beside(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure latency, then pushes a second by JSON and by Arrow."""
    seconds = 2.0 if effort.tiny else 20.0
    rows: list[list[str]] = []
    with _served(spark, directory / "http") as (connection, port):
        ours, theirs = _latencies(connection, port, seconds)
        for share, name in ((0.5, "p50"), (0.99, "p99")):
            a, b = quantile(ours, share), quantile(theirs, share)
            rows.append(
                [f"push to subscriber, {name}", f"{a:.1f} ms", f"{b:.1f} ms", f"{b - a:+.1f} ms"]
            )
        for count in (1, 1_000):
            rows += _rates(connection, port, count, seconds / 5)
    for row in rows:
        print("  " + " | ".join(row), flush=True)
    return Outcome("http", "HTTP beside the embedded interface", COLUMNS, rows, (), [])


@contextmanager
def _served(spark: SparkSession, home: Path) -> Iterator[tuple[Connection, int]]:
    given = {"home": str(home), "http.port": "0", "log.level": "error"}
    configuration = resolved(given, {"PENSTOCK_LIMITS_REQUESTS": "none"})
    service = Service(configuration)
    listeners = Listeners(service)
    listeners.start()
    with penstock.connect(home, spark=spark) as connection:
        service.open(connection)
        connection.script(SCRIPT)
        yield connection, listeners.http.getsockname()[1]
        service.stop()
        listeners.stop()
    service.close()


def _latencies(
    connection: Connection, port: int, seconds: float
) -> tuple[list[float], list[float]]:
    """Return milliseconds of tuples pushed and read embedded, and of those by HTTP."""
    pushed: dict[int, float] = {}
    came: tuple[dict[int, float], dict[int, float]] = ({}, {})
    subscription = connection.subscribe("answer", after=None)

    def embedded() -> None:
        for row in subscription:
            came[0][row["n"]] = time.perf_counter()

    def events() -> None:
        asking = http.client.HTTPConnection("127.0.0.1", port)
        asking.request("GET", "/v1/queries/answer/rows?after=now")
        answer = asking.getresponse()
        while line := answer.readline():
            if line.startswith(b'data: {"n"'):
                came[1][json.loads(line[6:])["n"]] = time.perf_counter()

    for each in (embedded, events):
        threading.Thread(target=each, daemon=True).start()
    time.sleep(1.0)
    post = _poster(port, "pushed", JSON)
    began = time.perf_counter()
    for number in range(int(seconds * A_SECOND)):
        time.sleep(max(0.0, began + number / A_SECOND - time.perf_counter()))
        row = [{"n": number, "v": number / 4, "name": "a"}]
        pushed[number] = time.perf_counter()
        if number % 2:
            post(json.dumps(row).encode())
        else:
            connection.push("pushed", row)
    time.sleep(2.0)
    subscription.close()
    warm = int(seconds * A_SECOND) // 5
    return tuple(  # type: ignore[return-value]  # one for each of two
        [1000 * (at - pushed[n]) for n, at in came[way].items() if n % 2 == way and n >= warm]
        for way in (0, 1)
    )


def _rates(connection: Connection, port: int, count: int, seconds: float) -> list[list[str]]:
    """Return pushes a second of one client with so many rows each."""
    rows = [{"n": at, "v": at / 4, "name": f"name {at}"} for at in range(count)]
    table = pa.Table.from_pylist(rows)
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    by_json, by_arrow = _poster(port, "plain", JSON), _poster(port, "plain", ARROW)
    ways: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "JSON": (
            lambda: connection.push("plain", rows),
            lambda: by_json(json.dumps(rows).encode()),
        ),
        "Arrow": (lambda: connection.push("plain", table), lambda: by_arrow(out.getvalue())),
    }
    found = []
    for name, (embedded, remote) in ways.items():
        ours, theirs = _a_second(embedded, seconds), _a_second(remote, seconds)
        found.append(
            [
                f"pushes of {count:,} rows a second, {name}",
                f"{ours:,.0f} ({ours * count:,.0f} rows)",
                f"{theirs:,.0f} ({theirs * count:,.0f} rows)",
                f"{theirs / ours:.2f}x",
            ]
        )
    return found


def _a_second(push: Callable[[], object], seconds: float) -> float:
    push()
    done, began = 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        push()
        done += 1
    return done / (time.perf_counter() - began)


def _poster(port: int, stream: str, kind: str) -> Callable[[bytes], None]:
    asking = http.client.HTTPConnection("127.0.0.1", port)

    def post(body: bytes) -> None:
        asking.request("POST", f"/v1/streams/{stream}/rows", body, {"Content-Type": kind})
        answer = asking.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()

    return post
