"""Streaming queries that run beside one another, each in a pool of a fair scheduler."""

import shutil
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from benchmarks.many.broadcast import Broadcast
from benchmarks.many.load import SCHEMAS, SLACK_SECONDS
from benchmarks.session import STORES, streaming_session

Take = Callable[[DataFrame, int], None]


class StreamingQueries:
    """A session with the streams as views, and what was started on it, until the block is left."""

    def __init__(self, spark: SparkSession, home: Path, store: str = STORES[0].name) -> None:
        chosen = next(each for each in STORES if each.name == store)
        self.session = streaming_session(spark, chosen)
        self.started: list[StreamingQuery] = []
        self._home = home

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for query in self.started:
            query.stop()
        shutil.rmtree(self._home, ignore_errors=True)

    def read_files(self, path: Path, a_batch: int | None = 1) -> None:
        """Let the streams be a load's files, so many a batch, or all that are there."""
        for name, columns in SCHEMAS.items():
            reader = self.session.readStream.schema(columns)
            if a_batch is not None:
                reader = reader.option("maxFilesPerTrigger", a_batch)
            self._view(name, reader.parquet(str(path / name)), SLACK_SECONDS)
        self._read_roads(path)

    def read_pushed(self, path: Path, **sources: Broadcast) -> None:
        """Let each stream be what is broadcast for it; the table is a load's."""
        for name, source in sources.items():
            reader = self.session.readStream.format("socket").option("host", "127.0.0.1")
            lines = reader.option("port", source.port).load()
            cells = lines.select(F.split("value", ",").alias("c"))
            columns = [each.split() for each in SCHEMAS[name].split(", ")]
            typed = [
                f"CAST(c[{n}] AS {kind}) AS {column}" for n, (column, kind) in enumerate(columns)
            ]
            self._view(name, cells.selectExpr(*typed), 0)
        self._read_roads(path)

    def start(self, text: str, take: Take | None = None) -> StreamingQuery:
        """Start a query that goes on until it is stopped, into nothing or into `take`."""
        writer = self._writer(text)
        writer = writer.format("noop") if take is None else writer.foreachBatch(take)
        self.started.append(writer.start())
        return self.started[-1]

    def start_to_end(self, text: str) -> StreamingQuery:
        """Start a query over what is there, into memory."""
        writer = self._writer(text).format("memory")
        self.started.append(writer.trigger(availableNow=True).start())
        return self.started[-1]

    def await_ends(self, until: float) -> None:
        """Wait for all queries; raise TimeoutError where that takes longer."""
        for query in self.started:
            if not query.awaitTermination(max(1, int(until - time.time()))):
                raise TimeoutError("Structured Streaming was not through in time")

    def rows(self, query: StreamingQuery) -> pa.Table:
        """Return what a query has put into memory."""
        return self.session.table(f"`{query.name}`").toArrow()

    def _writer(self, text: str) -> DataStreamWriter:
        name = f"q_{uuid4().hex}"
        self.session.sparkContext.setLocalProperty("spark.scheduler.pool", name)
        writer = self.session.sql(text).writeStream.outputMode("append").queryName(name)
        return writer.option("checkpointLocation", str(self._home / name))

    def _view(self, name: str, frame: DataFrame, slack: int) -> None:
        frame.withWatermark("ts", f"{slack} seconds").createOrReplaceTempView(name)

    def _read_roads(self, path: Path) -> None:
        self.session.read.parquet(str(path / "roads")).createOrReplaceTempView("roads")


def await_batches(queries: Sequence[StreamingQuery], count: int, until: float) -> None:
    """Wait until all queries have done so many batches with rows; raise what ended one."""
    for query in queries:
        while len(batch_ends(query)) < count:
            if (failure := query.exception()) is not None:
                raise failure
            if time.time() > until:
                raise TimeoutError("Structured Streaming was not through in time")
            time.sleep(0.05)


def await_all_read(queries: Sequence[StreamingQuery], until: float) -> None:
    """Wait until all queries have done all that there is; raise what ended one."""
    for query in queries:
        if time.time() > until:
            raise TimeoutError("Structured Streaming was not through in time")
        query.processAllAvailable()


def batch_ends(query: StreamingQuery) -> list[float]:
    """Return when each batch with rows had ended; what came without rows ends the last."""
    ends: list[float] = []
    for progress in query.recentProgress:
        began = datetime.fromisoformat(progress["timestamp"]).timestamp()
        at = began + progress["durationMs"]["triggerExecution"] / 1000
        if progress["numInputRows"]:
            ends.append(at)
        elif ends and "addBatch" in progress["durationMs"]:
            ends[-1] = at
    return ends
