"""The rows of a SELECT as Parquet files that its tasks write, in an order that files keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (as everybody writes it)

from penstock.engine.trains.sort_order import order_of
from penstock.engine.trains.types import arrow_schema, spark_schema
from penstock.model.schema import Schema, quoted


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Rows sorted by these columns and then by all others, as `sorted_rows` does.

    Those that are all alike in the columns need no more than to be sorted `within` their tasks,
    which follow one another anyway.
    """

    columns: Sequence[str]
    within: bool = False


@dataclass(frozen=True, slots=True)
class TrainWriter:
    """Writes rows of a schema into no more than so many files.

    `order` is what they are sorted by; None leaves them as they are.
    """

    schema: Schema
    order: RowOrder | None
    files: int

    def write(self, sql: str, session: SparkSession, job: Path) -> None:
        """Write the rows below the directory `job`, one file a task."""
        frame = self._sorted(self._cast(session.sql(sql)))
        # Tasks that follow one another go together: the order stays.
        frame.coalesce(self.files).write.parquet(str(job))

    def _cast(self, frame: DataFrame) -> DataFrame:
        wanted = spark_schema(self.schema)
        types = [field.dataType for field in frame.schema]
        if types != [field.dataType for field in wanted]:
            columns = zip(frame.columns, wanted, strict=True)
            frame = frame.select(*(F.col(quoted(n)).cast(to.dataType) for n, to in columns))
        return frame.toDF(*self.schema.names)

    def _sorted(self, frame: DataFrame) -> DataFrame:
        if self.order is None:
            return frame
        names = order_of(arrow_schema(self.schema), self.order.columns)
        columns = [F.col(quoted(each)).asc_nulls_last() for each in names]
        return frame.sortWithinPartitions(*columns) if self.order.within else frame.sort(*columns)
