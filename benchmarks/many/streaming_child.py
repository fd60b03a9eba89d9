"""Plain Structured Streaming in a process of its own: a streaming query for each query.

As good as it gets: the faster checkpoint file manager, the state store that the parent names, a
fair scheduler with a pool for each query, and the cheapest sink.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.many.broadcast import Broadcast
from benchmarks.many.load import SCHEMAS
from benchmarks.many.memory import held
from benchmarks.many.pushing import SETTLE_SECONDS, Probes, pushing
from benchmarks.many.serving import Handler, serve
from benchmarks.many.staged import Staged
from benchmarks.many.streaming_queries import (
    StreamingQueries,
    await_all_read,
    await_batches,
    batch_ends,
)
from benchmarks.session import collect_garbage, start_spark

PROBE_SELECTS = {
    "filter": "SELECT ts AS at FROM traffic WHERE mph >= 0",
    "windows": "SELECT window.end AS at, count(*) AS cars FROM traffic "
    "GROUP BY window(ts, '1 second')",
}


class StreamingChild:
    """Answers the commands, on one Spark."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def batch(self, selects: Mapping[str, str], path: str, out: str) -> dict[str, Any]:
        """Write what each query says of all the rows: what every system must say."""
        session = self._spark.newSession()
        for name in (*SCHEMAS, "roads"):
            session.read.parquet(f"{path}/{name}").createOrReplaceTempView(name)
        Path(out).mkdir(parents=True)
        for name, text in selects.items():
            pq.write_table(session.sql(text).toArrow(), Path(out) / f"{name}.parquet")
        return {}

    def run(  # noqa: PLR0913  (a command's arguments, all by name)
        self,
        *,
        selects: Mapping[str, str],
        path: str,
        home: str,
        store: str,
        warm: int,
        patience: float,
        out: str | None = None,
        coalesce: bool = False,
    ) -> dict[str, Any]:
        """Run queries over all files; say when all had done `warm` files, and when all of them.

        A batch is one file, or with `coalesce` whatever there is.
        """
        collect_garbage(self._spark)
        with StreamingQueries(self._spark, Path(home), store) as queries:
            if out is not None:
                queries.read_files(Path(path), None if coalesce else 1)
                return self._answer(queries, selects, Path(out), patience)
            files = Staged(Path(path), Path(home) / "staged", tuple(SCHEMAS))
            files.give(warm)
            queries.read_files(files.staged, None if coalesce else 1)
            began = time.time()
            started = [queries.start(text) for text in selects.values()]
            stood = time.time()
            await_batches(started, 1 if coalesce else warm, began + patience)
            # Those that were started first have waited for the others: all begin together.
            begin = time.time()
            files.give(files.count)
            if coalesce:
                await_all_read(started, began + patience)
            else:
                await_batches(started, files.count, began + patience)
            end = max(batch_ends(query)[-1] for query in started)
        return {"stood_seconds": stood - began, "marks": [begin, end]}

    def _answer(
        self, queries: StreamingQueries, selects: Mapping[str, str], out: Path, patience: float
    ) -> dict[str, Any]:
        """Write every query's rows."""
        began = time.time()
        started = {name: queries.start_to_end(text) for name, text in selects.items()}
        queries.await_ends(began + patience)
        out.mkdir(parents=True)
        for name, query in started.items():
            pq.write_table(queries.rows(query), out / f"{name}.parquet")
            queries.session.catalog.dropTempView(query.name)
        return {"stood_seconds": 0.0, "marks": [began, time.time()]}

    def create(
        self, selects: Sequence[str], path: str, steps: Sequence[int], home: str, budget: float
    ) -> dict[str, Any]:
        """Start queries one by one beside a steady push; say how long each took, and memory."""
        took: list[float] = []
        with Broadcast() as traffic, Broadcast() as reports, self._queries(home) as queries:
            queries.read_pushed(Path(path), traffic=traffic, reports=reports)
            memory = [{"queries": 0, **held(self._spark)}]
            until = time.monotonic() + budget
            with pushing(traffic.push, Probes()):
                for text in selects:
                    took.append(_seconds(queries, text))
                    if len(took) in steps:
                        memory.append({"queries": len(took), **held(self._spark)})
                    if time.monotonic() > until:
                        break
        return {"seconds": took, "memory": memory}

    def add(
        self,
        selects: Sequence[str],
        added: Sequence[str],
        path: str,
        phases: Sequence[float],
        home: str,
        budget: float,
    ) -> dict[str, Any]:
        """Time the probes' rows before, while and after queries are started one by one."""
        probes, took = Probes(), []
        warm, before, after, pause = phases
        with Broadcast() as traffic, Broadcast() as reports, self._queries(home) as queries:
            queries.read_pushed(Path(path), traffic=traffic, reports=reports)
            for probe, text in PROBE_SELECTS.items():
                queries.start(text, _taking(probe, probes))
            for text in selects:
                queries.start(text)
            with pushing(traffic.push, probes):
                time.sleep(warm + before)
                began = time.time()
                for text in added:
                    time.sleep(pause)
                    took.append(_seconds(queries, text))
                    if time.time() > began + budget:
                        break
                ended = time.time()
                time.sleep(after)
            time.sleep(SETTLE_SECONDS)
        return {"added": [began, ended], "seconds": took, "latencies": probes.latencies()}

    def _queries(self, home: str) -> StreamingQueries:
        return StreamingQueries(self._spark, Path(home))


def _seconds(queries: StreamingQueries, text: str) -> float:
    began = time.perf_counter()
    queries.start(text)
    return time.perf_counter() - began


def _taking(probe: str, probes: Probes) -> Callable[[DataFrame, int], None]:
    def take(rows: DataFrame, _: int) -> None:
        for row in rows.toArrow().to_pylist():
            probes.note(probe, row["at"])

    return take


def opened() -> dict[str, Handler]:
    """Start Spark; return what can be asked."""
    child = StreamingChild(start_spark(**{"spark.scheduler.mode": "FAIR"}))
    return {"batch": child.batch, "run": child.run, "create": child.create, "add": child.add}


if __name__ == "__main__":
    serve(opened)
