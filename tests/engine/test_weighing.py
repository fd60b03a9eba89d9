"""Weighing in the driver says what Spark says, and both what weighing tuple by tuple does."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.engine.states.windows.sample_scaling import weighed
from penstock.plan.algebra.bounds import definitions
from penstock.plan.operators.gate import ALL, ERROR, KEPT, ROWS, SHED
from penstock.plan.operators.windows.sample_scaling import SampleEstimate, SampleScaling

pytestmark = pytest.mark.spark

WEIGHING = SampleScaling(
    ("k",),
    (
        SampleEstimate("c", "count", "bigint", shown=True).of("n"),
        SampleEstimate("t", "sum", "double", shown=True).of("m", "x", "xx"),
        SampleEstimate("w", "sum", "bigint", shown=True).of("m", "y", "yy"),
        SampleEstimate("a", "avg", "double", shown=False).of("m", "x", "xx"),
    ),
    "n",
)


@st.composite
def strata(draw: st.DrawFn) -> pa.Table:
    """Partials by key and share that was kept, of values that are drawn one by one."""
    drawn = np.random.default_rng(draw(st.integers(0, 2**32)))
    shares = draw(
        st.lists(st.sampled_from([50_000, 250_000, 990_000, ALL]), min_size=1, max_size=3)
    )
    rows = []
    for key in range(draw(st.integers(1, 4))):
        for kept in set(shares):
            n = int(drawn.integers(1, 6))
            values = drawn.integers(-5, 30, int(drawn.integers(0, n + 1)))
            m = len(values)
            x, y = (float(values.sum()) / 4, int(values.sum())) if m else (None, None)
            squares = float((values**2).sum()) if m else None
            rows.append((1, key, kept, n, m, x, squares and squares / 16, y, squares))
    names = ["at", "k", KEPT, "n", "m", "x", "xx", "y", "yy"]
    types = [pa.int64(), pa.int64(), pa.int32(), *[pa.int64()] * 2, *[pa.float64()] * 2]
    types += [pa.int64(), pa.float64()]
    columns = list(zip(*rows, strict=True))
    return pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=names)


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(strata())
def test_the_driver_says_what_spark_says(spark: SparkSession, table: pa.Table) -> None:
    for each in definitions():
        spark.sql(each)
    spark.createDataFrame(table).createOrReplaceTempView("strata")
    theirs = spark.sql(WEIGHING.sql("strata", ("at",))).toArrow().sort_by("k")
    ours = weighed(table, WEIGHING, ("at",))
    assert ours is not None
    ours = ours.sort_by("k")
    assert ours.schema.names == theirs.schema.names
    for name in theirs.schema.names:
        mine, other = (t[name].to_pylist() for t in (ours, theirs))
        assert [each is None for each in mine] == [each is None for each in other], name
        kept = [(a, b) for a, b in zip(mine, other, strict=True) if a is not None]
        np.testing.assert_allclose(*(list(zip(*kept, strict=True)) or ([], [])), rtol=1e-9)


def test_a_row_stands_for_what_its_tuples_stood_for() -> None:
    table = pa.table(
        {
            "at": [7, 7, 7],
            "k": [1, 1, 2],
            KEPT: pa.array([250_000, ALL, ALL], pa.int32()),
            "n": [3, 2, 4],
            "m": [3, 2, 4],
            "x": [6.0, 5.0, 1.0],
            "xx": [14.0, 13.0, 1.0],
            "y": [6, 5, 1],
            "yy": [14.0, 13.0, 1.0],
        }
    )
    found = weighed(table, WEIGHING, ("at",))
    assert found is not None
    first, second = found.sort_by("k").to_pylist()
    assert (first["c"], first["t"], first["w"], first[ROWS]) == (14, 29.0, 29, 5)
    assert first["a"] == 29 / 14
    assert first[SHED] == pytest.approx(1 - 5 / 14)
    assert first[ERROR] > 0
    assert (second["c"], second["t"], second["a"], second[ERROR]) == (4, 1.0, 0.25, 0.0)
