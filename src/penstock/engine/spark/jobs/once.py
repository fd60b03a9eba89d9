"""Running a one-time SELECT."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.engine.spark.spark_errors import analysis_error, run_error
from penstock.engine.trains.arrow_bridge import collect
from penstock.engine.trains.rows import SMALL_ROWS, laid_together, read_parquet
from penstock.engine.trains.types import spark_schema
from penstock.model.schema import Schema
from penstock.plan.relations.sources import NOTHING


@dataclass(frozen=True, slots=True)
class Stored:
    """Rows in Parquet files and the rest of them in a table; `count` is how many the files have."""

    schema: Schema
    count: int
    files: tuple[Path, ...]
    rest: pa.Table


Relation: TypeAlias = "pa.Table | Stored"
Shape: TypeAlias = Callable[[DataFrame], DataFrame]
Within: TypeAlias = Callable[[Callable[[], pa.Table]], pa.Table]


def no_limit(work: Callable[[], pa.Table]) -> pa.Table:
    """Wait for as long as it takes."""
    return work()


def as_it_is(frame: DataFrame) -> DataFrame:
    """Leave the rows of a SELECT as they are."""
    return frame


def select_once(
    spark: SparkSession,
    sql: str,
    relations: Mapping[str, Relation],
    within: Within = no_limit,
    meant: Mapping[str, str] = NOTHING,
    shape: Shape = as_it_is,
) -> pa.Table:
    """Return the rows of a SELECT; `relations` are the views that exist only for it.

    `within` calls what it is given, and may give up waiting. `meant` are the views that it reads,
    with what users call them. `shape` makes another frame of the SELECT's.
    """
    try:
        for view, relation in relations.items():
            _frame(spark, relation).createOrReplaceTempView(view)
        return within(lambda: collect(shape(spark.sql(sql))))
    except AnalysisException as error:
        raise analysis_error(error, meant) from error
    except (PySparkException, Py4JError) as error:
        raise run_error(error, "change the SELECT, or what it reads", meant) from error
    finally:
        for view in relations:
            spark.catalog.dropTempView(view)


def _frame(spark: SparkSession, relation: Relation) -> DataFrame:
    if not isinstance(relation, Stored):
        # Spark stops reading at an empty chunk and loses what lies behind it.
        return spark.createDataFrame(relation.combine_chunks())
    if relation.count <= SMALL_ROWS:
        stored = read_parquet(relation.files, relation.schema)
        return _frame(spark, laid_together([stored, relation.rest]))
    schema = spark_schema(relation.schema)
    scanned = spark.read.schema(schema).parquet(*map(str, relation.files))
    if not relation.rest.num_rows:
        return scanned
    return scanned.unionAll(spark.createDataFrame(relation.rest.combine_chunks(), schema))
