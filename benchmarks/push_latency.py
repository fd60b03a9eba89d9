"""From push to subscriber at 100 tuples a second: how long a row takes.

The peer is the nearest that Structured Streaming has built in: lines through a socket, rows taken
by foreachBatch. It keeps nothing that is pushed; Penstock has it in its log before push returns.

A window's row is timed from the push of the tuple whose time closes it.
"""

import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

import penstock
from benchmarks.measurement import Effort, Outcome, quantile
from benchmarks.session import collect_garbage, streaming_session

A_SECOND = 100
TICK = timedelta(seconds=1) / A_SECOND
START = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = ("query", "side", "p50 ms", "p99 ms", "rows")
GRACE_SECONDS = 5.0  # for what was pushed last to arrive
QUERIES = {
    "stateless": "SELECT n, v * 2 AS w FROM pushed WHERE v >= 0",
    "windows of 1 s": (
        "SELECT window_end, count(*) AS c, sum(v) AS s FROM pushed [RANGE 1 SECOND]"
    ),
}


@dataclass(slots=True)
class Times:
    """When tuple number n was pushed, and when the row that it brought about came."""

    pushed: dict[int, float] = field(default_factory=dict)
    came: dict[int, float] = field(default_factory=dict)

    def note(self, number: int) -> None:
        """Note that a row is here."""
        self.came.setdefault(number, time.perf_counter())

    def latencies(self, after: float) -> list[float]:
        """Return the milliseconds of all rows whose tuple was pushed later than `after`."""
        return [
            1000 * (at - self.pushed[number])
            for number, at in self.came.items()
            if number in self.pushed and self.pushed[number] >= after
        ]


def push_latency(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure both sides, one after the other."""
    warm, measured = (2.0, 3.0) if effort.tiny else (10.0, 30.0)
    rows, raw = [], []
    for query, sql in QUERIES.items():
        for side, run in (("Penstock", _penstock), ("Structured Streaming", _streaming)):
            collect_garbage(spark)
            times = Times()
            home = directory / uuid4().hex
            with run(spark, home, sql, times) as push:
                began = time.perf_counter()
                _push_steadily(push, times, warm + measured)
                time.sleep(GRACE_SECONDS)
            shutil.rmtree(home, ignore_errors=True)
            found = times.latencies(began + warm)
            assert len(found) >= 0.9 * measured * (A_SECOND if query == "stateless" else 1)
            p50, p99 = quantile(found, 0.5), quantile(found, 0.99)
            rows.append([query, side, f"{p50:.0f}", f"{p99:.0f}", f"{len(found):,}"])
            raw.append({"query": query, "side": side, "milliseconds": [round(x, 1) for x in found]})
            print("  " + " | ".join(rows[-1]), flush=True)
    title = f"From push to subscriber, {A_SECOND} tuples a second"
    return Outcome("push_latency", title, COLUMNS, rows, (), raw)


Push = Callable[[int], None]


def _push_steadily(push: Push, times: Times, seconds: float) -> None:
    """Push a tuple each tick, by an absolute plan, so that a late one does not delay the rest."""
    began = time.perf_counter()
    for number in range(int(seconds * A_SECOND)):
        wait = began + number / A_SECOND - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        times.pushed[number] = time.perf_counter()
        push(number)


def _brought_about(row: dict[str, object]) -> int:
    """Return the tuple that a row answers: its own, or the first behind the window's end."""
    if "n" in row:
        return int(str(row["n"]))
    end = row["window_end"]
    assert isinstance(end, datetime)
    return round((end.astimezone(UTC) - START) / TICK)


@contextmanager
def _penstock(spark: SparkSession, home: Path, sql: str, times: Times) -> Iterator[Push]:
    with penstock.connect(home, spark=spark) as connection:
        connection.script(f"""
            CREATE STREAM pushed (ts TIMESTAMP, n BIGINT, v DOUBLE) TIMESTAMP BY ts
              SLACK INTERVAL 0 SECONDS FROM push();
            CREATE QUERY answer AS {sql};
        """)
        subscription = connection.subscribe("answer", after=None)

        def read() -> None:
            for row in subscription:
                times.note(_brought_about(row.as_dict()))

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        yield lambda n: _ignore(
            connection.push("pushed", [{"ts": START + n * TICK, "n": n, "v": n / 4}])
        )
        subscription.close()
        reader.join()


def _ignore(_: object) -> None:
    """Give nothing back."""


@contextmanager
def _streaming(spark: SparkSession, home: Path, sql: str, times: Times) -> Iterator[Push]:
    session = streaming_session(spark)
    server = socket.create_server(("127.0.0.1", 0))
    frame = _from_socket(session, server.getsockname()[1])
    if "RANGE" in sql:
        windows = frame.withWatermark("ts", "0 seconds").groupBy(F.window("ts", "1 second"))
        answer = windows.agg(F.count("*").alias("c"), F.sum("v").alias("s")).select(
            F.col("window.end").alias("window_end"), "c", "s"
        )
    else:
        answer = frame.where("v >= 0").selectExpr("n", "v * 2 AS w")

    def take(rows: DataFrame, _: int) -> None:
        for row in rows.toArrow().to_pylist():
            times.note(_brought_about(row))

    query = answer.writeStream.foreachBatch(take).option("checkpointLocation", str(home)).start()
    connection, _ = server.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        yield lambda n: connection.sendall(
            f"{(START + n * TICK).isoformat()},{n},{n / 4}\n".encode()
        )
    finally:
        query.stop()
        connection.close()
        server.close()


def _from_socket(session: SparkSession, port: int) -> DataFrame:
    lines = (
        session.readStream.format("socket").option("host", "127.0.0.1").option("port", port).load()
    )
    cells = lines.select(F.split("value", ",").alias("c"))
    return cells.selectExpr(
        "CAST(c[0] AS TIMESTAMP) AS ts", "CAST(c[1] AS BIGINT) AS n", "CAST(c[2] AS DOUBLE) AS v"
    )
