"""Structured Streaming's side: each query for itself, with a rate limit at the source."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from benchmarks.contracts.judging import Found, Phase, Watch, judged
from benchmarks.contracts.penstock_side import (
    CALM_RATE,
    CALM_SECONDS,
    PATIENCE_SECONDS,
    WARM_SECONDS,
    warm_rate,
)
from benchmarks.contracts.scene import QUERIES, SCHEMA, TRAIN_SECONDS, Query, amounts, train
from benchmarks.session import start_spark, streaming_session

LIMIT_SECONDS = 1.0  # of the capacity's readings are taken at once, at most


def run(phase: Phase, seconds: float) -> Found:
    """Let so much come for so long, wait, and judge."""
    spark = start_spark()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            return _run(phase, seconds, Path(scratch), streaming_session(spark))
    finally:
        spark.stop()


def _run(phase: Phase, seconds: float, where: Path, session: SparkSession) -> Found:
    source, watch, drawn = where / "in", Watch(), np.random.default_rng(2)
    source.mkdir()
    files = max(1, round(LIMIT_SECONDS / TRAIN_SECONDS / max(1.0, phase.load)))
    queries = [_started(session, query, source, files, watch) for query in QUERIES]
    _source_reader(source, drawn, amounts("constant", warm_rate(phase), WARM_SECONDS))
    _source_reader(source, drawn, amounts("constant", CALM_RATE, CALM_SECONDS))
    began = time.time()
    pushed = _source_reader(source, drawn, amounts(phase.traffic, phase.rate, seconds))
    over = time.time()
    _source_reader(source, drawn, amounts("constant", CALM_RATE, 2.0))
    time.sleep(PATIENCE_SECONDS)
    for query in queries:
        query.stop()
    return judged(phase, watch, pa.concat_tables(pushed), (began, over))


def _started(
    session: SparkSession, query: Query, source: Path, files: int, watch: Watch
) -> StreamingQuery:
    reader = session.readStream.schema(SCHEMA).format("parquet")
    frame = reader.option("maxFilesPerTrigger", files).load(str(source))
    frame = frame.withWatermark("ts", "0 seconds")
    frame.createOrReplaceTempView(f"readings_{query.name}")
    answers = session.sql(
        f"SELECT window.start AS window_start, k, count(*) AS c, {query.total} AS total "
        f"FROM readings_{query.name} GROUP BY window(ts, '1 second'), k"
    )
    writer = answers.writeStream.outputMode("append").foreachBatch(_heard(query.name, watch))
    return writer.option("checkpointLocation", str(source.parent / query.name)).start()


def _heard(name: str, watch: Watch) -> Callable[[DataFrame, int], None]:
    def hear(frame: DataFrame, _: int) -> None:
        rows = frame.toArrow()
        if rows.num_rows:
            watch.hear(name, rows)

    return hear


def _source_reader(source: Path, drawn: np.random.Generator, rows: Sequence[int]) -> list[pa.Table]:
    pushed, began = [], time.monotonic()
    for number, count in enumerate(rows):
        time.sleep(max(0.0, began + (number + 1) * TRAIN_SECONDS - time.monotonic()))
        pushed.append(train(count, drawn))
        draft = source.parent / "draft.parquet"
        pq.write_table(pushed[-1], draft)
        draft.rename(source / f"{time.time_ns()}.parquet")
    return pushed
