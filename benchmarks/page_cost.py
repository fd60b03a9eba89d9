"""What the page costs the server with 1,000 queries, by the CPU time of the threads that serve it.

One thread samples for all pages, another sends; a page here is a connection that reads what comes.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

import penstock
from benchmarks.measurement import Effort, Outcome
from penstock.client import Connection
from penstock.server.configuration import resolved
from penstock.server.serve import Listeners
from penstock.server.service import Service

QUERIES, RATE = 1_000, 200
PAGES = (0, 1, 50)
COLUMNS = (
    "pages open",
    "sampling",
    "sending",
    "frames a second",
    "bytes a frame and page",
    "cores",
)
TICKS = os.sysconf("SC_CLK_TCK")
STREAM = f"""
    CREATE STREAM readings (ts TIMESTAMP, k INT, v DOUBLE) TIMESTAMP BY ts
      FROM generator(rate => {RATE}, k => CAST(u1 * 20 AS INT), v => u2 * 100);
"""


def page_cost(spark: SparkSession, directory: Path, effort: Effort) -> Outcome:
    """Measure without a page, with one, and with many."""
    count, seconds = (20, 4.0) if effort.tiny else (QUERIES, 30.0)
    rows = []
    with _served(spark, directory / "page") as (connection, port):
        connection.script(STREAM + "".join(map(_query, range(count))))
        time.sleep(seconds)
        for pages in PAGES:
            with ExitStack() as stack:
                readers = [stack.enter_context(_page(port)) for _ in range(pages)]
                time.sleep(seconds / 3)
                rows.append([f"{pages}", *_measured(readers, seconds)])
            print("  " + " | ".join(rows[-1]), flush=True)
    title = f"The page over {count:,} queries, half of them windows, {RATE} tuples a second"
    return Outcome("page_cost", title, COLUMNS, rows)


def _query(number: int) -> str:
    if number % 2:
        return (
            f"CREATE QUERY f{number} AS SELECT ts, v FROM readings WHERE v > {90 + number / 101};"
        )
    return (
        f"CREATE QUERY w{number} AS SELECT window_end, k, sum(v) AS s FROM readings "
        f"[RANGE {2 + number % 8} SECONDS] WHERE v > {number / 20} GROUP BY k;"
    )


@contextmanager
def _served(spark: SparkSession, home: Path) -> Iterator[tuple[Connection, int]]:
    service = Service(resolved({"home": str(home), "http.port": "0", "log.level": "error"}, {}))
    listeners = Listeners(service)
    listeners.start()
    with penstock.connect(home, spark=spark) as connection:
        service.open(connection)
        yield connection, listeners.http.getsockname()[1]
        service.stop()
        listeners.stop()
    service.close()


class _Reader(threading.Thread):
    """One page: reads what comes, and counts it."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.bytes = self.frames = 0
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.sendall(b"GET /v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")

    def run(self) -> None:
        while part := self._socket.recv(1 << 20):
            self.bytes += len(part)
            self.frames += part.count(b"event: change")

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self.join()
        self._socket.close()


@contextmanager
def _page(port: int) -> Iterator[_Reader]:
    reader = _Reader(port)
    reader.start()
    try:
        yield reader
    finally:
        reader.close()


def _measured(readers: list[_Reader], seconds: float) -> list[str]:
    """Return what the threads took, and what one page got, over so many seconds."""
    names = ("penstock-feed", "penstock-listeners")
    threads, whole = [_cpu_of(name) for name in names], time.process_time()
    size, frames = (sum(getattr(each, what) for each in readers) for what in ("bytes", "frames"))
    began = time.perf_counter()
    time.sleep(seconds)
    took = time.perf_counter() - began
    shares = [(_cpu_of(name) - before) / took for name, before in zip(names, threads, strict=True)]
    more = sum(each.frames for each in readers) - frames
    told = sum(each.bytes for each in readers) - size
    return [
        *(f"{share:.1%} of a core" for share in shares),
        f"{more / took / len(readers):.2f}" if readers else "",
        f"{told / more:,.0f}" if more else "",
        f"{(time.process_time() - whole) / took:.2f}",
    ]


def _cpu_of(name: str) -> float:
    """Return the CPU seconds of a thread."""
    (thread,) = (each for each in threading.enumerate() if each.name == name)
    text = Path(f"/proc/self/task/{thread.native_id}/stat").read_text()
    cells = text.rpartition(")")[2].split()
    return (int(cells[11]) + int(cells[12])) / TICKS
