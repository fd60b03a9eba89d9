"""What is picked without a job is what Spark would let through."""

import itertools
import math

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.engine.trains.span_picks import pick
from penstock.model.schema import Column, Schema
from penstock.plan.operators.bundles.spans import condition_of

pytestmark = pytest.mark.spark

SCHEMA = Schema((Column("n", "bigint"), Column("x", "double"), Column("s", "string")))
TABLE = pa.table(
    {
        "n": pa.array([None, -(2**63), 2**63 - 1, 2**53, 2**53 + 1, 0, 1], pa.int64()),
        "x": pa.array([None, math.nan, -math.inf, math.inf, -0.0, 0.0, 5e-324], pa.float64()),
        "s": pa.array([None, "", "a", "a\0", "é", "\uffff", "\U0001f697"]),
    }
)
LITERALS = {
    "n": ("0", "9007199254740993", "-9223372036854775807", "9223372036854775807"),
    "x": ("0.0", "-0.0", "1e308", "5e-324"),
    "s": ("''", "'a'", "'é'", "'\uffff'"),
}
CONDITIONS = [
    f"{column} {compared} {literal}"
    for column, literals in LITERALS.items()
    for literal, compared in itertools.product(literals, ("<", "<=", "=", "<>", ">", ">="))
] + ["n BETWEEN 0 AND 9007199254740992", "s IN ('a', 'é')", "x BETWEEN 1.0 AND 0.0"]


def test_spans_let_through_what_spark_does(spark: SparkSession) -> None:
    shown = ", ".join(f"({text}) AS c{place}" for place, text in enumerate(CONDITIONS))
    spark.createDataFrame(TABLE).coalesce(1).createOrReplaceTempView("span_picks")
    answers = spark.sql(f"SELECT {shown} FROM span_picks").toArrow()
    found = [condition_of(text, SCHEMA) for text in CONDITIONS]
    asked = [[(each.column, each.type, each.spans)] for each in found if each is not None]
    assert len(asked) > len(CONDITIONS) // 2
    told = [place for place, each in enumerate(found) if each is not None]
    for place, picked in zip(told, pick(TABLE, asked), strict=True):
        expected = [row for row, holds in enumerate(answers[f"c{place}"].to_pylist()) if holds]
        assert picked.tolist() == expected, CONDITIONS[place]
