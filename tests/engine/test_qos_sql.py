"""What gates and errors of answers decide in Spark SQL is what they decide in numpy."""

import math

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from penstock.qos.answers import sampled
from penstock.qos.answers_sql import SampledSql
from penstock.qos.gates import Gate
from penstock.qos.semantic import SemanticGate

pytestmark = pytest.mark.spark


def test_spark_decides_as_numpy_does(spark: SparkSession) -> None:
    drawn = np.random.default_rng(2)
    train = drawn.integers(-(2**63), 2**63 - 1, 500)
    row = np.concatenate([np.arange(400), drawn.integers(-(2**63), 2**63 - 1, 100)])
    worth = drawn.choice([1.5, 2.5, np.nan, np.inf, -np.inf, 0.0], 500)
    gates = [Gate(keep, seed) for keep, seed in ((0.05, -3), (0.5, 2**62), (1.0, 0), (1 / 3, 99))]
    ranked = [SemanticGate(cut, gates[1]) for cut in (-np.inf, 1.5, 0.1 + 0.2)]
    frame = spark.createDataFrame(
        list(zip(train.tolist(), row.tolist(), worth.tolist(), strict=True)),
        "t BIGINT, r BIGINT, w DOUBLE",
    ).selectExpr("t", "r", "nullif(w, 0D) AS w")  # 0 stands for NULL
    asked = [each.sql("t", "r") for each in gates] + [each.sql("w", "t", "r") for each in ranked]
    found = frame.selectExpr(*[f"{text} AS g{n}" for n, text in enumerate(asked)]).collect()
    worth[worth == 0] = np.nan
    expected = [each.passes(train, row) for each in gates]
    expected += [each.passes(worth, train, row) for each in ranked]
    for n, each in enumerate(expected):
        assert [line[n] for line in found] == each.tolist()


def test_spark_tells_the_same_errors(spark: SparkSession) -> None:
    drawn = np.random.default_rng(9)
    groups = drawn.integers(0, 40, 3000)
    lines = [(int(group), float(drawn.normal(5, 2)), 0.3 if group % 3 else 0.7) for group in groups]
    lines += [(100, 4.0, 0.5), (101, 4.0, 1.0), (101, 6.0, 1.0), (102, -3.0, 0.5), (102, 3.0, 0.5)]
    texts = SampledSql.over("v", "k")
    asked = [texts.total, texts.count_error(), texts.sum_error(), texts.average_error()]
    frame = spark.createDataFrame(lines, "g INT, v DOUBLE, k DOUBLE")
    found = frame.groupBy("g").agg(*[expr(text) for text in asked]).collect()
    assert len(found) == len({group for group, _, _ in lines})
    for group, *told in found:
        mine = [(v, k) for g, v, k in lines if g == group]
        v, k = (np.array(each) for each in zip(*mine, strict=True))
        keep = float(k[0])
        same = sampled(
            np.array([float(len(v))]), np.array([v.sum()]), np.array([(v**2).sum()]), keep
        )
        expected = [same.total, same.count_error(), same.sum_error(), same.average_error()]
        shown = [math.nan if each is None else each for each in told]
        assert shown == pytest.approx([float(e[0]) for e in expected], rel=1e-9, nan_ok=True)
