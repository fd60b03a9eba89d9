"""What gates decide in Spark SQL is what they decide in numpy."""

import numpy as np
import pytest
from pyspark.sql import SparkSession

from penstock.qos.shedding.gates import DropGate
from penstock.qos.shedding.semantic import SemanticGate

pytestmark = pytest.mark.spark


def test_spark_decides_as_numpy_does(spark: SparkSession) -> None:
    drawn = np.random.default_rng(2)
    train = drawn.integers(-(2**63), 2**63 - 1, 500)
    row = np.concatenate([np.arange(400), drawn.integers(-(2**63), 2**63 - 1, 100)])
    worth = drawn.choice([1.5, 2.5, np.nan, np.inf, -np.inf, 0.0], 500)
    gates = [
        DropGate(keep, seed) for keep, seed in ((0.05, -3), (0.5, 2**62), (1.0, 0), (1 / 3, 99))
    ]
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
