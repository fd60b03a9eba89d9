from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.trains.arrow_bridge import collect_small

pytestmark = pytest.mark.spark

EVERYTHING = """
    SELECT id, CAST(id AS INT) AS i, CAST(id AS DOUBLE) / 3 AS d, CAST(id AS DECIMAL(20, 3)) AS m,
           CAST(id AS STRING) AS s, id % 2 = 0 AS b, TIMESTAMP '2024-01-01 00:00:00.123456' AS ts,
           DATE '2024-02-29' AS day, CAST('x' AS BINARY) AS bytes, array(id, NULL) AS xs,
           named_struct('a', id, 'b', array('c')) AS st, map('k', id) AS mp,
           TIMESTAMP_NTZ '2024-01-01 00:00:00' AS ntz, INTERVAL 5 SECONDS AS span,
           CAST(NULL AS STRING) AS nothing
    FROM range({count})
"""


@pytest.mark.parametrize("count", [0, 1, 7, 30_000])
def test_every_type_comes_as_spark_itself_gives_it(spark: SparkSession, count: int) -> None:
    frame = spark.sql(EVERYTHING.format(count=count))
    found, expected = collect_small(frame), frame.toArrow()
    assert found.schema == expected.schema
    assert found.to_pylist() == expected.to_pylist()


def test_values_are_what_they_were(spark: SparkSession) -> None:
    (row,) = collect_small(spark.sql(EVERYTHING.format(count=1))).to_pylist()
    assert row["m"] == Decimal("0.000")
    assert row["ts"] == datetime(2024, 1, 1, 0, 0, 0, 123456, UTC)
    assert row["day"] == date(2024, 2, 29)
    assert row["span"] == timedelta(seconds=5)
    assert row["xs"] == [0, None]


class Missing:
    """A Spark whose converters are gone."""

    def __getattr__(self, name: str) -> "Missing":
        if name == "ArrowConverters$":
            raise AttributeError(name)
        return self


class Changed(Missing):
    """A Spark whose converter takes other arguments."""

    def __getattr__(self, name: str) -> "Missing":
        if name == "toBatchWithSchemaIterator":
            raise Py4JError("no such method")
        return self


class Frame:
    """A frame whose JVM is not as we know it."""

    def __init__(self, frame: DataFrame, jvm: object) -> None:
        self._frame = frame
        self._jdf = frame._jdf
        self.schema = frame.schema
        self.sparkSession = type("Session", (), {"_jvm": jvm})()
        self.asked = 0

    def toArrow(self) -> pa.Table:  # noqa: N802  (Spark's name)
        self.asked += 1
        return self._frame.toArrow()


@pytest.mark.parametrize("jvm", [None, Missing(), Changed()])
def test_where_sparks_insides_are_not_as_we_know_them_the_public_way_serves(
    spark: SparkSession, jvm: object
) -> None:
    frame = Frame(spark.sql("SELECT id FROM range(3)"), jvm)
    found = collect_small(frame)  # type: ignore[arg-type]
    assert (found["id"].to_pylist(), frame.asked) == ([0, 1, 2], 1)


def test_a_frame_without_a_jvm_side_is_read_the_public_way(spark: SparkSession) -> None:
    frame = Frame(spark.sql("SELECT id FROM range(3)"), spark._jvm)
    del frame._jdf
    assert collect_small(frame)["id"].to_pylist() == [0, 1, 2]  # type: ignore[arg-type]
    assert frame.asked == 1


def test_a_result_larger_than_a_batch_comes_whole(spark: SparkSession) -> None:
    found = collect_small(spark.sql("SELECT id FROM range(0, 35, 1, 1)"), batch_rows=10)
    assert found["id"].to_pylist() == list(range(35))


def test_what_spark_cannot_compute_is_raised(spark: SparkSession) -> None:
    with pytest.raises(PySparkException):
        collect_small(spark.sql("SELECT 1 / (id - 1) FROM range(3)"))
