"""approx_count_distinct(x, deviation): the sketch is as fine as it is asked to be."""

import pytest

from penstock.plan.algebra.aggregates import decompose
from penstock.sql import parse_select, spark_sql


def partial(call: str) -> tuple[str, bool]:
    node = parse_select(f"SELECT {call}").expressions[0]
    made = decompose(node, time="ts", show=spark_sql, type_of=lambda _: "int")
    return made.partials[0], made.is_holistic


@pytest.mark.parametrize(
    ("call", "sql"),
    [
        ("approx_count_distinct(x)", "hll_sketch_agg(x)"),
        ("approx_count_distinct(x, 0.05)", "hll_sketch_agg(x, 9)"),
        ("approx_count_distinct(x, 0.01)", "hll_sketch_agg(x, 14)"),
        ("approx_count_distinct(x, 0.3)", "hll_sketch_agg(x, 4)"),
        ("approx_count_distinct(x, 0.001) FILTER (WHERE y)", "hll_sketch_agg(x, 21) FILTER"),
    ],
)
def test_a_smaller_deviation_is_a_larger_sketch(call: str, sql: str) -> None:
    found, holistic = partial(call)
    assert found.startswith(sql)
    assert not holistic


@pytest.mark.parametrize("deviation", ["0.00001", "0", "-1", "0.9", "y", "1 / 20"])
def test_what_no_sketch_keeps_is_for_spark_to_judge(deviation: str) -> None:
    found, holistic = partial(f"approx_count_distinct(x, {deviation})")
    assert found.startswith("approx_count_distinct(")
    assert holistic
