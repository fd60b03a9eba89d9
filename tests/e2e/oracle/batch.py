"""The other side of the oracle: Spark, over everything at once."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.e2e.oracle.data import TABLE, TABLE_DDL
from tests.e2e.oracle.queries import Query


def interpreted(spark: SparkSession) -> SparkSession:
    """Return a session for many small batches: to compile each would take longer than to run it."""
    session = spark.newSession()
    for name, value in (
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.sql.shuffle.partitions", "1"),
        ("spark.sql.adaptive.enabled", "false"),
        ("spark.sql.codegen.wholeStage", "false"),
        ("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
    ):
        session.conf.set(name, value)
    return session


class Batch:
    """Runs the batch form of queries over whole streams."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = interpreted(spark)
        rows = [tuple(row.values()) for row in TABLE]
        self._spark.createDataFrame(rows, TABLE_DDL).createOrReplaceTempView("t")

    def see(self, streams: dict[str, pa.Table]) -> None:
        """Take these as the whole of the streams."""
        for name, table in streams.items():
            self._spark.createDataFrame(table.combine_chunks()).createOrReplaceTempView(name)

    def answers(self, queries: Iterable[Query]) -> Iterator[tuple[Query, pa.Table]]:
        """Yield what each query should have given, in order; each may read those before it."""
        for query in queries:
            frame = self._spark.sql(query.batch)
            frame.createOrReplaceTempView(query.name)
            yield query, frame.toArrow()
