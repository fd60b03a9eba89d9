"""Calls of users' aggregates: found wherever an aggregate may stand, and only those."""

from typing import Any

import pytest

from penstock.errors import BadQueryError
from penstock.model.functions.user_aggregates import UserAggregate
from penstock.plan.algebra.aggregates import decompose, is_aggregate
from penstock.plan.algebra.user_calls import is_users, marked
from penstock.sql import parse_select, spark_sql

TOTAL = UserAggregate("Total", float, max, max, float, ("double", "int"), "double", "double")
KNOWN = {"total": TOTAL}


def call(text: str) -> Any:
    (found,) = marked(parse_select(f"SELECT {text}"), KNOWN).expressions
    return found


def test_a_known_name_is_an_aggregate_and_keeps_its_text() -> None:
    found = call("total(x, y)")
    assert is_aggregate(found)
    assert is_users(found)
    assert spark_sql(found) == "total(x, y)"


def test_other_functions_stay_as_they_are() -> None:
    tree = parse_select("SELECT other(x), sum(x)")
    assert marked(tree, KNOWN) is tree
    assert not is_users(tree)


def test_partials_are_of_the_stated_types() -> None:
    found = call("total(x, y) FILTER (WHERE x > 1)")
    made = decompose(found, time="ts", show=spark_sql, type_of=lambda _: "double")
    assert made.partials == (
        "_penstock_total_update(collect_list(struct(CAST(x AS double) AS x0, CAST(y AS int) AS x1))"
        " FILTER (WHERE x > 1))",
    )
    assert made.combines == ("_penstock_total_merge(collect_list({0}))",)
    assert made.finish == "_penstock_total_finish({0})"
    assert not made.is_holistic


@pytest.mark.parametrize("text", ["total(x)", "total(DISTINCT x, y)", "total()"])
def test_calls_with_other_arguments_are_refused(text: str) -> None:
    with pytest.raises(BadQueryError):
        decompose(call(text), time="ts", show=spark_sql, type_of=lambda _: "double")
