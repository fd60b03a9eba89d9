"""The shape of partials; that they combine to Spark's own answers is tested on Spark."""

import re

import pytest
import sqlglot

from penstock.errors import PenstockError
from penstock.plan.algebra.aggregates import _MAKERS, Aggregate, decompose, is_aggregate
from penstock.sql import parse_select, spark_sql
from penstock.sql.dialect.verbatim_functions import AGGREGATES


def made(call: str, kind: str = "bigint") -> Aggregate:
    node = parse_select(f"SELECT {call} FROM t").expressions[0]
    assert is_aggregate(node)
    return decompose(node, time="unix_micros(ts)", show=spark_sql, type_of=lambda _: kind)


ARGUMENTS = {"max_by": "a, b", "min_by": "a, b"}


def call_of(name: str) -> str:
    if name == "count distinct":
        return "count(DISTINCT a)"
    return f"{name}({ARGUMENTS.get(name, 'a')})"


@pytest.mark.parametrize("name", sorted(_MAKERS))
def test_every_aggregate_has_as_many_combines_as_partials_and_reads_as_sql(name: str) -> None:
    aggregate = made(call_of(name))
    partials, combined = aggregate.partial_sql("x"), aggregate.combine_sql("x")
    assert [column for column, _ in partials] == [column for column, _ in combined]
    for sql in [*dict(partials).values(), *dict(combined).values(), aggregate.finish_sql("x")]:
        assert not re.search(r"\{\d\}", sql)
        sqlglot.parse_one(f"SELECT {sql}", read="spark")
    # a combined value is made of partials alone, and the result of combined values
    for sql in (*dict(combined).values(), aggregate.finish_sql("x")):
        assert re.search(r"\bx_\d", sql)


@pytest.mark.parametrize("name", sorted(set(AGGREGATES.split()) - set(_MAKERS)))
def test_an_aggregate_without_partials_that_combine_is_sparks_own_call(name: str) -> None:
    aggregate = made(f"{name}(a)")
    assert aggregate.is_holistic
    assert aggregate.partials == (aggregate.text,)


def test_distinct_values_of_other_aggregates_than_count_need_the_tuples() -> None:
    assert made("sum(DISTINCT a)").is_holistic
    assert not made("count(DISTINCT a, b)").is_holistic


def test_an_aggregate_inside_an_aggregate_is_refused() -> None:
    with pytest.raises(PenstockError) as refused:
        made("sum(max(a))")
    assert refused.value.code == "BAD_QUERY"


def test_the_filter_goes_into_every_partial() -> None:
    for name in _MAKERS:
        aggregate = made(f"{call_of(name)} FILTER (WHERE c > 1)")
        for partial in aggregate.partials:
            calls = len(re.findall(r"\b(?:count|avg|var_pop)\(", partial)) or 1
            assert len(re.findall(r"FILTER ?\(WHERE \(?c > 1", partial)) == calls


def test_first_and_last_go_by_event_time() -> None:
    assert made("first(a)").partials == ("min(struct(unix_micros(ts) AS t, a AS x))",)
    assert made("last(a)").partials == ("max(struct(unix_micros(ts) AS t, a AS x))",)


@pytest.mark.parametrize("call", ["first(a) IGNORE NULLS", "first(a, true)", "first(a, TRUE)"])
def test_nulls_are_passed_over_where_that_is_asked(call: str) -> None:
    (partial,) = made(call).partials
    assert partial.endswith("FILTER (WHERE a IS NOT NULL)")


def test_ignoring_nulls_joins_a_filter_that_is_there() -> None:
    (partial,) = made("last(a) FILTER (WHERE c > 1 OR d) IGNORE NULLS").partials
    assert partial.endswith("FILTER (WHERE (c > 1 OR d) AND a IS NOT NULL)")


def test_a_null_never_decides_which_value_goes_with_it() -> None:
    (partial,) = made("min_by(a, b) FILTER (WHERE c > 1 OR d)").partials
    assert partial.endswith("FILTER (WHERE (c > 1 OR d) AND b IS NOT NULL)")


def test_more_than_one_value_needs_the_tuples() -> None:
    assert made("max_by(a, b, 3)").is_holistic
    assert not made("max_by(a, b)").is_holistic


def test_nulls_are_listed_where_that_is_asked() -> None:
    for call in ("collect_list(a)", "array_agg(a)"):
        assert "IS NOT NULL" in made(call).partials[0]
        assert "IS NOT NULL" not in made(f"{call} RESPECT NULLS").partials[0]
    assert made("collect_set(a) RESPECT NULLS").partials == ("collect_set(a) RESPECT NULLS",)


def test_a_sum_keeps_the_type_of_its_partial() -> None:
    assert made("sum(a)", "decimal(20,2)").combines == ("CAST(sum({0}) AS decimal(20,2))",)


@pytest.mark.parametrize("call", ["max_by(a)", "min_by(a)", "count_if()", "first()"])
def test_a_call_without_its_arguments_is_refused(call: str) -> None:
    with pytest.raises(PenstockError) as refused:
        made(call)
    assert refused.value.code == "BAD_QUERY"
