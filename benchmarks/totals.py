"""The aggregate of readings by window and key that several scenarios run."""

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - its name everywhere

TYPES = {
    "window_start": pa.timestamp("us", "UTC"),
    "k": pa.string(),
    "total": pa.float64(),
    "n": pa.int64(),
    "mean": pa.float64(),
}


def totals(frame: DataFrame, window: Column) -> DataFrame:
    """Return the aggregate as Structured Streaming and a batch write it."""
    grouped = frame.groupBy(window.alias("window"), "k").agg(
        F.sum("v").alias("total"), F.count("*").alias("n"), F.avg("v").alias("mean")
    )
    return grouped.select(F.col("window.start").alias("window_start"), "k", "total", "n", "mean")


def in_order(table: pa.Table) -> pa.Table:
    """Return the rows in an order of their own, in the types that both sides share."""
    fitted = table.select(list(TYPES)).cast(pa.schema(list(TYPES.items())))
    return fitted.sort_by([("window_start", "ascending"), ("k", "ascending")]).combine_chunks()
