"""Which constants of a SELECT may be any other of their type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.spark.likeness import likeness


@pytest.mark.parametrize(
    ("sql", "alike"),
    [
        ("`x` > 5", "`x` > ?int"),
        ("`x`<=-5", "`x`<=-?int"),
        ("`x` = 2147483648", "`x` = ?bigint"),
        ("`x` = 9223372036854775808", "`x` = 9223372036854775808"),
        ("`x` < 10.50", "`x` < ?decimal(2,2)"),
        ("`x` < 0.50", "`x` < ?decimal(0,2)"),
        ("`x` <> 'it''s'", "`x` <> ?string"),
        ("`x` = 'a\\'b' AND `y` = \"c\"", "`x` = ?string AND `y` = ?string"),
        ("`x` BETWEEN 1 AND 20 OR `y` = 3", "`x` BETWEEN ?int AND ?int OR `y` = ?int"),
        ("NOT `x` IN (1, 'b', 2.5)", "NOT `x` IN (?int, ?string, ?decimal(1,1))"),
        ("upper(`x`) = 'A'", "upper(`x`) = ?string"),
        ("(`x` + 1) * 2 > 3", "(`x` + 1) * 2 > ?int"),
        ("count_if(`x` > 3)", "count_if(`x` > ?int)"),
        ("CASE WHEN `x` > 3 THEN 4 ELSE 5 END", "CASE WHEN `x` > ?int THEN 4 ELSE 5 END"),
    ],
)
def test_a_constant_that_a_column_is_compared_with_is_its_type(sql: str, alike: str) -> None:
    assert likeness(sql) == alike


@pytest.mark.parametrize(
    "sql",
    [
        "round(`x`, 2)",
        "`x` > 5 * `y`",
        "`x` > 5 + 1",
        "3 > 2",
        "abs(3) > 2",
        "`y`, 3 > 2",
        "WHERE `y` AND 3 > 2",
        "`x` > 5L",
        "`x` > 1e3",
        "`x` > DATE '2026-01-01'",
        "`x` = 'a' 'b'",
        "`x` IN (1, `y`)",
        "`x` IN ('a' 'b')",
        "`x` BETWEEN 1 AND `y`",
        "`x` BETWEEN 1 AND 2 + 3",
        "`x > 5`",
        "'`x` > 5'",
        "SELECT `x` > 5 AS `y`",
        "`x` >",
        "`x` IN (",
        "`x` BETWEEN 1",
    ],
)
def test_any_other_constant_stays_what_it_is(sql: str) -> None:
    assert likeness(sql) == sql


@given(st.text())
def test_whatever_is_written_something_comes_out(sql: str) -> None:
    assert isinstance(likeness(sql), str)


@given(st.text(alphabet=" \n`'\"abcx(),+-*5.LeE_", max_size=40))
def test_texts_without_comparisons_stay_apart(sql: str) -> None:
    assert likeness(sql) == sql
