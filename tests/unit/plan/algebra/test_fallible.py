"""What can fail, and that it is asked after what guards it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from penstock.plan.algebra.clauses import conjuncts, in_order
from penstock.plan.algebra.fallible import can_fail
from penstock.plan.operators import Filter
from penstock.plan.operators.bundles.member import flow_member_of, member_of
from penstock.sql import parse_select
from tests.unit.plan.twin import bind, columns

SAFE = [
    "a",
    "a <> 0",
    "-1 < a",
    "a = b",
    "a IS NULL",
    "a IS NOT NULL AND NOT b",
    "a IS NOT DISTINCT FROM b",
    "a <=> b",
    "a IN (1, 2)",
    "a NOT IN ('x')",
    "(a, b) IN ((1, 2))",
    "a BETWEEN 1 AND 2",
    "s LIKE 'x%'",
    "s NOT ILIKE 'x%'",
    "st.a.b = 3",
    "(a = 1 OR (b = 2 AND true))",
    "ts >= TIMESTAMP '2026-01-01 12:00:00.5'",
    "ts < DATE '2026-02-28'",
]
UNSAFE = [
    "10 / a > 2",
    "a + 1 > 2",
    "-a > 2",
    "a % 2 = 0",
    "CAST(s AS INT) = 1",
    "s::int = 1",
    "CAST('x' AS INT) = a",
    "ts < DATE '2026-02-30'",
    "ts < DATE 'yesterday'",
    "xs[0] = 1",
    "length(s) > 1",
    "s RLIKE '('",
    "s LIKE b",
    r"s LIKE 'x\\'",
    "a = 1 OR 10 / a > 2",
    "NOT (a = 1 AND f(a))",
    "a IN (1, 10 / b)",
    "CASE WHEN a THEN b END",
    "ts < current_timestamp()",
]
TYPES = columns(s="string", c="varchar(3)", n="int", ts="timestamp")


@pytest.mark.parametrize("text", SAFE)
def test_comparisons_of_columns_and_literals_cannot_fail(text: str) -> None:
    assert not can_fail(condition(text))


@pytest.mark.parametrize("text", UNSAFE)
def test_whatever_computes_can_fail(text: str) -> None:
    assert can_fail(condition(text))


@pytest.mark.parametrize(
    "text", ["s > 5", "n = s", "c IN ('x', 1)", "s = ts", "S BETWEEN -1 AND 1"]
)
def test_a_text_that_is_compared_with_another_type_can_fail(text: str) -> None:
    assert not can_fail(condition(text))
    assert can_fail(condition(text), TYPES)


@pytest.mark.parametrize("text", ["s > '5'", "s = c", "n > 5", "ts > '2026-01-01'", "n IS NULL"])
def test_equal_types_cannot_fail(text: str) -> None:
    assert not can_fail(condition(text), TYPES)


def test_a_guard_is_asked_before_what_it_guards() -> None:
    root = bind("SELECT * FROM traffic WHERE 10 / mph > 2 AND mph <> 0")
    assert isinstance(root, Filter)
    assert root.conditions == ("`mph` <> 0", "10 / `mph` > 2")


def test_one_computed_condition_may_guard_the_next() -> None:
    root = bind("SELECT * FROM traffic WHERE size(xs) > 3 AND (xs[2] > 1 AND kind = 'x')")
    assert isinstance(root, Filter)
    assert root.conditions == ("`kind` = 'x'", "size(`xs`) > 3", "`xs`[2] > 1")


def test_a_bundle_asks_in_the_same_order() -> None:
    where = "WHERE 10 / mph > 2 AND mph <> 0"
    expected = ("(`mph` <> 0) AND (10 / `mph` > 2)",)
    flow = flow_member_of(bind(f"SELECT * FROM traffic {where}"))
    windows = member_of(bind(f"SELECT count(*) AS n FROM traffic [RANGE 1 MINUTE] {where}"))
    assert flow is not None
    assert windows is not None
    assert flow.asked.predicates == windows.asked.predicates == expected
    guarded = "(SELECT * FROM traffic WHERE mph <> 0) AS t"
    stacked = flow_member_of(bind(f"SELECT * FROM {guarded} WHERE 10 / mph > 2"))
    assert stacked is not None
    assert stacked.asked.predicates == expected


@given(st.permutations(["a = 1", "b IS NULL", "a = 1", "c IN (1, 2)"]))
def test_safe_conditions_in_any_order_are_the_same(texts: list[str]) -> None:
    given_so = condition(" AND ".join(f"({each})" for each in texts))
    assert in_order(conjuncts(given_so)) == ("a = 1", "b IS NULL", "c IN (1, 2)")


def condition(text: str) -> exp.Expr:
    return parse_select(f"SELECT {text}").expressions[0]
