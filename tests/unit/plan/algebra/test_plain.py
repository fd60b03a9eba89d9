"""Plain aggregates: what is computed of which value, and what is left to Spark."""

import pytest

from penstock.plan.algebra.aggregates import Aggregate
from penstock.plan.algebra.plain import Plain, combinations, plain_partials

PLAIN = {
    ("count(*)", "sum({0})"): Plain("count", None, "sum"),
    ("count(`x`)", "sum({0})"): Plain("count", "`x`", "sum"),
    ("count(*) FILTER (WHERE `y` > 1)", "sum({0})"): Plain(
        "count", "CASE WHEN `y` > 1 THEN TRUE END", "sum"
    ),
    ("count_if(`x` > 3)", "sum({0})"): Plain("count", "CASE WHEN `x` > 3 THEN TRUE END", "sum"),
    ("sum(`x`)", "CAST(sum({0}) AS bigint)"): Plain("sum", "CAST(`x` AS BIGINT)", "sum"),
    ("sum(`x`) FILTER (WHERE `y`)", "CAST(sum({0}) AS double)"): Plain(
        "sum", "CASE WHEN `y` THEN CAST(`x` AS DOUBLE) END", "sum"
    ),
    ("max(`x`)", "max({0})"): Plain("max", "`x`", "max"),
}
OTHERS = (
    ("count(`x`, `y`)", "sum({0})"),
    ("count(DISTINCT `x`)", "sum({0})"),
    ("sum(`x`)", "CAST(sum({0}) AS decimal(20,2))"),
    ("max(struct(`t` AS t, `x` AS x))", "max({0})"),
    ("bool_or(`x`)", "bool_or({0})"),
    ("hll_sketch_agg(`x`)", "hll_union_agg({0})"),
)


def made(partial: str, combine: str) -> Aggregate:
    return Aggregate(partial, (partial,), (combine,))


@pytest.mark.parametrize(("written", "plain"), PLAIN.items())
def test_counts_sums_and_extremes_are_plain(written: tuple[str, str], plain: Plain) -> None:
    assert plain_partials(made(*written)) == (plain,)


@pytest.mark.parametrize("written", OTHERS)
def test_whatever_else_combines_is_sparks(written: tuple[str, str]) -> None:
    assert plain_partials(made(*written)) is None
    assert combinations([("a", made("count(*)", "sum({0})")), ("b", made(*written))]) is None


def test_holistic_aggregates_are_not_plain() -> None:
    assert plain_partials(Aggregate("median(x)", ("median(x)",), ())) is None


def test_every_partial_combines_under_its_name() -> None:
    mean = Aggregate(
        "avg(`x`)",
        ("sum(CAST(`x` AS DOUBLE))", "count(`x`)"),
        ("CAST(sum({0}) AS double)", "sum({1})"),
    )
    found = combinations([("a", mean), ("b", made("min(`x`)", "min({0})"))])
    assert found == {"a_0": "sum", "a_1": "sum", "b_0": "min"}
