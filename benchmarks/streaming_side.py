"""Structured Streaming's side: the same query, its fastest settings, its cheapest sink."""

from datetime import datetime
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

from benchmarks.pace import Mark
from benchmarks.readings import DDL, SLACK_SECONDS, WINDOW_SECONDS, Readings


def totals(frame: DataFrame) -> DataFrame:
    """Return the tumbling aggregate of readings."""
    window = F.window("ts", f"{WINDOW_SECONDS} seconds")
    grouped = frame.groupBy(window, "k").agg(
        F.sum("v").alias("total"), F.count("*").alias("n"), F.avg("v").alias("mean")
    )
    return grouped.select(F.col("window.start").alias("window_start"), "k", "total", "n", "mean")


def batch_totals(session: SparkSession, readings: Readings) -> pa.Table:
    """Return what both sides must have said: the batch query over all files."""
    frame = session.read.schema(DDL).format(readings.format).load(str(readings.path))
    end = F.timestamp_micros(F.lit(readings.closed_before - WINDOW_SECONDS * 1_000_000))
    return totals(frame).where(F.col("window_start") <= end).toArrow()


def run_streaming(
    session: SparkSession, readings: Readings, checkpoint: Path, table: str | None = None
) -> list[Mark]:
    """Run over all files, one a batch, into nothing or into a table in memory."""
    stream = (
        session.readStream.schema(DDL)
        .format(readings.format)
        .option("maxFilesPerTrigger", 1)
        .load(str(readings.path))
        .withWatermark("ts", f"{SLACK_SECONDS} seconds")
    )
    writer = totals(stream).writeStream.outputMode("append").trigger(availableNow=True)
    writer = writer.queryName(table or f"totals_{uuid4().hex}").format(
        "memory" if table else "noop"
    )
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    marks, rows = [], 0
    for progress in query.recentProgress:
        if progress["numInputRows"]:  # one without rows lets go of the last windows: not counted
            rows += progress["numInputRows"]
            began = datetime.fromisoformat(progress["timestamp"]).timestamp()
            marks.append(Mark(rows, began + progress["durationMs"]["triggerExecution"] / 1000))
    return marks
