"""Spark as the planner's analyst: columns, functions and types are what Catalyst says."""

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.engine.spark.likeness import likeness
from penstock.engine.spark.repeatable import SPECIAL_TIME, refuse_calls, refuse_changing
from penstock.engine.spark.spark_errors import analysis_error
from penstock.engine.trains.types import arrow_schema, schema_of, spark_schema
from penstock.errors import TypeMismatchError
from penstock.model.schema import Schema
from penstock.plan.relations.sources import NOTHING

# Types that a result may have and that no train can hold; `:` follows the name of a field.
UNHELD = re.compile(r"(?<=<)void\b(?!:)|(?<=[:,])void\b(?!:)|\b(?:geometry|geography)\b(?!:)")


REMEMBERED = 4096  # answers; a query asks some five to ten questions

Question = tuple[str, tuple[tuple[str, Schema], ...]]

_shown: WeakKeyDictionary[SparkSession, dict[str, Schema]] = WeakKeyDictionary()


class SparkAnalyst:
    """Analyses SELECTs over empty relations; runs no job.

    Answers are remembered: of a thousand queries that differ in their constants Spark is asked
    about one. What was wrong is not, so that each text gets Spark's own complaint about it. All
    that is analysed is to run again and again: what would change in between is refused.
    """

    def __init__(self, spark: SparkSession, remembered: int = REMEMBERED) -> None:
        """Use the session for views of its own."""
        self._remembered = remembered
        self._spark = spark
        self._lock = threading.Lock()
        self._answers: OrderedDict[Question, Schema] = OrderedDict()
        self._views = _shown.setdefault(spark, {})

    def schema(
        self, sql: str, leaves: Mapping[str, Schema], meant: Mapping[str, str] = NOTHING
    ) -> Schema:
        """Return the output's columns, or raise what is wrong."""
        question = (likeness(sql), tuple(leaves.items()))
        with self._lock:
            # Unlike other constants, 'now' is not like any other that a time is compared with.
            special = SPECIAL_TIME.search(sql) is not None
            if not special and (known := self._answers.get(question)) is not None:
                self._answers.move_to_end(question)
                return known
            found = self._ask(sql, leaves, meant)
            # A column's name may be an expression's text.
            if not special and not any("(" in column.name for column in found):
                self._answers[question] = found
                if len(self._answers) > self._remembered:
                    self._answers.popitem(last=False)
            return found

    def _ask(self, sql: str, leaves: Mapping[str, Schema], meant: Mapping[str, str]) -> Schema:
        refuse_calls(sql)
        for name, schema in leaves.items():
            self._show(name, schema)
        try:
            frame = self._spark.sql(sql)
            found = schema_of(frame.schema)
            refuse_changing(frame)
        except (PySparkException, Py4JJavaError) as error:
            raise analysis_error(error, meant) from error
        check_types(found)
        return found

    def _show(self, name: str, schema: Schema) -> None:
        """Make an empty relation; the next question is often about the same."""
        if self._views.get(name) != schema:
            empty = self._spark.createDataFrame([], spark_schema(schema))
            empty.createOrReplaceTempView(name)
            self._views[name] = schema


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
