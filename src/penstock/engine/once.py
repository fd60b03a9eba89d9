"""Running a one-time SELECT."""

from collections.abc import Mapping

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from penstock.engine.spark_errors import analysis_error, run_error


def select_once(spark: SparkSession, sql: str, tables: Mapping[str, pa.Table]) -> pa.Table:
    """Return the rows of a SELECT; `tables` are the views that exist only for it."""
    try:
        for view, table in tables.items():
            # Spark stops reading at an empty chunk and loses what lies behind it.
            spark.createDataFrame(table.combine_chunks()).createOrReplaceTempView(view)
        return spark.sql(sql).toArrow()
    except AnalysisException as error:
        raise analysis_error(error) from error
    except (PySparkException, Py4JError) as error:
        raise run_error(error) from error
    finally:
        for view in tables:
            spark.catalog.dropTempView(view)
