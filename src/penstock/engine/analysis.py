"""Spark as the planner's analyst: columns, functions and types are what Catalyst says."""

import re
import threading
from collections.abc import Mapping

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.engine.spark_errors import analysis_error
from penstock.engine.types import arrow_schema, schema_of, spark_schema
from penstock.errors import TypeMismatchError
from penstock.model.schema import Schema

# Types that a result may have and that no train can hold; `:` follows the name of a field.
UNHELD = re.compile(r"(?<=<)void\b(?!:)|(?<=[:,])void\b(?!:)|\b(?:geometry|geography)\b(?!:)")


class SparkAnalyst:
    """Analyses SELECTs over empty relations; runs no job."""

    def __init__(self, spark: SparkSession) -> None:
        """Use the session for views of its own."""
        self._spark = spark
        self._lock = threading.Lock()

    def schema(self, sql: str, leaves: Mapping[str, Schema]) -> Schema:
        """Return the output's columns, or raise what is wrong."""
        with self._lock:
            for name, schema in leaves.items():
                empty = self._spark.createDataFrame([], spark_schema(schema))
                empty.createOrReplaceTempView(name)
            try:
                found = schema_of(self._spark.sql(sql).schema)
            except (PySparkException, Py4JJavaError) as error:
                raise analysis_error(error) from error
            check_types(found)
            return found


def check_types(schema: Schema) -> None:
    """Raise where Spark or Arrow has no such types, or Parquet could not hold them."""
    for column in schema:
        if found := UNHELD.search(column.type):
            raise TypeMismatchError(
                f"column {column.name} of type {column.type} cannot be kept",
                hint="CAST it to a type" if found[0] == "void" else "",
            )
    try:
        arrow_schema(schema)
    except PySparkException as error:
        raise analysis_error(error) from error
