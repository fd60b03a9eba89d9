"""Structured Streaming's side: queries over files, the cheapest sink."""

from datetime import datetime
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benchmarks.pace import Mark
from benchmarks.readings import SLACK_SECONDS


def run_to_end(frame: DataFrame, checkpoint: Path, said: list[pa.Table] | None) -> list[Mark]:
    """Run a query over all files, into nothing, or its rows into `said`; say when batches ended."""
    session, name = frame.sparkSession, f"answer_{uuid4().hex}"
    writer = frame.writeStream.outputMode("append").trigger(availableNow=True).queryName(name)
    writer = writer.format("noop" if said is None else "memory")
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    query.awaitTermination()
    if said is not None:
        said.append(session.table(name).toArrow())
        session.catalog.dropTempView(name)
    marks, rows = [], 0
    for progress in query.recentProgress:
        if progress["numInputRows"]:  # one without rows lets go of the last windows: not counted
            rows += progress["numInputRows"]
            began = datetime.fromisoformat(progress["timestamp"]).timestamp()
            marks.append(Mark(rows, began + progress["durationMs"]["triggerExecution"] / 1000))
    return marks


def read_files(session: SparkSession, ddl: str, path: Path, form: str = "parquet") -> DataFrame:
    """Return a stream of files, one a batch."""
    reader = session.readStream.schema(ddl).format(form).option("maxFilesPerTrigger", 1)
    return reader.load(str(path)).withWatermark("ts", f"{SLACK_SECONDS} seconds")
