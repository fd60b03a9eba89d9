"""Penstock in a process of its own, by its public interface only."""

import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock
from benchmarks.many.load import SCHEMAS
from benchmarks.many.memory import held
from benchmarks.many.pushing import SETTLE_SECONDS, Probes, pushing
from benchmarks.many.serving import Handler, serve
from benchmarks.many.staged import Staged
from benchmarks.penstock_side import one_file_a_run
from benchmarks.session import collect_garbage, start_spark
from penstock.client import Connection
from penstock.engine.sinks.sink import Delivery

PROBE_QUERIES = """
CREATE QUERY probe_filter AS SELECT ts, mph FROM traffic WHERE mph >= 0;
CREATE QUERY probe_windows AS SELECT window_end, count(*) AS cars FROM traffic [RANGE 1 SECOND];
"""
LOOK_SECONDS = 1.0  # to look at a thousand queries is work; when rows came is noted elsewhere
PROBE_TIMES = {"filter": "ts", "windows": "window_end"}


class PenstockChild:
    """Answers the commands, on one Spark."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(
        self,
        *,
        script: str,
        home: str,
        watermarks: Sequence[int],
        patience: float,
        out: str | None = None,
        coalesce: bool = False,
    ) -> dict[str, Any]:
        """Run a script to its end; say when all had answered up to each watermark.

        A run takes one file, or with `coalesce` what waits.
        """
        collect_garbage(self._spark)
        log = _Log(kept={} if out else None)
        paced = contextlib.nullcontext() if coalesce else one_file_a_run()
        with paced, penstock.connect(home, spark=self._spark) as connection:
            connection.tap(log.note)
            began = time.time()
            connection.script(script)
            stood = time.time()
            if not connection.wait(patience):
                raise TimeoutError(f"not through after {patience:.0f} s")
            _see_that_none_failed(connection)
        if out and log.kept is not None:
            _write(log.kept, Path(out))
        return {
            "stood_seconds": stood - began,
            "rows": log.rows,
            "marks": [log.passed(watermark) or stood for watermark in watermarks],
        }

    def run_freely(  # noqa: PLR0913  (a command's arguments, all by name)
        self,
        *,
        script: str,
        home: str,
        path: str,
        staged: str,
        warm: int,
        watermark: int,
        patience: float,
    ) -> dict[str, Any]:
        """Let as many files as wait be one run; the rest comes when the warm ones are done."""
        collect_garbage(self._spark)
        log, files = _Log(kept=None), Staged(Path(path), Path(staged), tuple(SCHEMAS))
        files.give(warm)
        with penstock.connect(home, spark=self._spark) as connection:
            connection.tap(log.note)
            began = time.time()
            connection.script(script)
            stood = time.time()
            _await_all_read(connection, files.rows(warm), began + patience)
            begin = time.time()
            files.give(files.count)
            _await_all_read(connection, files.rows(files.count), began + patience)
            _see_that_none_failed(connection)
        marks = [begin, log.passed(watermark) or begin]
        return {"stood_seconds": stood - began, "rows": log.rows, "marks": marks}

    def create(
        self, streams: str, queries: Sequence[str], steps: Sequence[int], home: str, budget: float
    ) -> dict[str, Any]:
        """Create queries one by one beside a steady push; say how long each took, and memory."""
        took: list[float] = []
        with penstock.connect(home, spark=self._spark) as connection:
            connection.script(streams)
            memory = [{"queries": 0, **held(self._spark)}]
            until = time.monotonic() + budget
            with pushing(lambda row: connection.push("traffic", [row]), Probes()):
                for text in queries:
                    took.append(_seconds(connection, text))
                    if len(took) in steps:
                        memory.append({"queries": len(took), **held(self._spark)})
                    if time.monotonic() > until:
                        break
        return {"seconds": took, "memory": memory}

    def add(
        self,
        streams: str,
        queries: Sequence[str],
        added: Sequence[str],
        phases: Sequence[float],
        home: str,
        budget: float,
    ) -> dict[str, Any]:
        """Time the probes' rows before, while and after queries are added one by one."""
        probes, warm, before, after, pause = Probes(), *phases
        with penstock.connect(home, spark=self._spark) as connection:
            connection.script(streams + PROBE_QUERIES + "".join(queries))
            readers = [_reading(connection, probe, probes) for probe in PROBE_TIMES]
            with pushing(lambda row: connection.push("traffic", [row]), probes):
                time.sleep(warm + before)
                began, took = time.time(), []
                for text in added:
                    time.sleep(pause)
                    took.append(_seconds(connection, text))
                    if time.time() > began + budget:
                        break
                ended = time.time()
                time.sleep(after)
            time.sleep(SETTLE_SECONDS)
            for subscription, thread in readers:
                subscription.close()
                thread.join()
        return {"added": [began, ended], "seconds": took, "latencies": probes.latencies()}


class _Log:
    """When rows were delivered, and up to which event time; rows themselves where asked for."""

    def __init__(self, kept: dict[str, list[pa.Table]] | None) -> None:
        self.kept, self.rows = kept, 0
        self._first: list[tuple[float, int]] = []  # when, and the least time of a delivery

    def note(self, delivery: Delivery) -> None:
        columns = delivery.rows.columns
        times = [each.cast(pa.int64()) for each in columns if pa.types.is_timestamp(each.type)]
        self._first.append((time.time(), pc.min(pc.max_element_wise(*times)).as_py()))
        self.rows += delivery.rows.num_rows
        if self.kept is not None:
            self.kept.setdefault(delivery.query, []).append(delivery.rows)

    def passed(self, watermark: int) -> float | None:
        """Return when the last row up to the watermark was delivered, if there was any."""
        return max((at for at, first in self._first if first <= watermark), default=None)


def _await_all_read(connection: Connection, rows: int, until: float) -> None:
    """Wait until so many rows have come in and every query has read them."""
    while time.time() < until:
        streams, queries = (connection.sql(f"SHOW {what}").table for what in ("STREAMS", "QUERIES"))
        assert streams is not None
        assert queries is not None
        if pc.sum(streams["rows"]).as_py() >= rows and not pc.sum(queries["queued_rows"]).as_py():
            return
        time.sleep(LOOK_SECONDS)
    raise TimeoutError("Penstock was not through in time")


def _see_that_none_failed(connection: Connection) -> None:
    shown = connection.sql("SHOW QUERIES").table
    assert shown is not None
    for row in shown.to_pylist():
        assert row["state"] != "FAILED", f"{row['query']} failed: {row['cause']}"


def _seconds(connection: Connection, text: str) -> float:
    began = time.perf_counter()
    connection.sql(text)
    return time.perf_counter() - began


def _reading(connection: Connection, probe: str, probes: Probes) -> tuple[Any, threading.Thread]:
    subscription = connection.subscribe(f"probe_{probe}", after=None)

    def read() -> None:
        for row in subscription:
            probes.note(probe, row[PROBE_TIMES[probe]])

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return subscription, thread


def _write(kept: dict[str, list[pa.Table]], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for query, tables in kept.items():
        pq.write_table(pa.concat_tables(tables), out / f"{query}.parquet")


def opened() -> dict[str, Handler]:
    """Start Spark; return what can be asked."""
    child = PenstockChild(start_spark())
    return {
        "run": child.run,
        "run_freely": child.run_freely,
        "create": child.create,
        "add": child.add,
    }


if __name__ == "__main__":
    serve(opened)
