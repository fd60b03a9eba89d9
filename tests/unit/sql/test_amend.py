"""The law of amending: the text defines the same query with other goals, and keeps all the rest."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.goals import Goals, Terms
from penstock.sql import AlterQuery, CreateQuery, amended, parse

goals = st.builds(
    Goals,
    st.none() | st.timedeltas(timedelta(microseconds=1), timedelta(days=900)),
    st.none() | st.floats(0, 1, exclude_max=True),
    st.floats(0, exclude_min=True, allow_infinity=False),
    st.integers(0, 9),
)
HEADS = (
    "CREATE QUERY q ",
    "create or replace continuous query `two words`\n-- WITH (weight => 3) AS\n",
    "CREATE QUERY IF NOT EXISTS q\tWITH (join => 'reuse', weight /* so */ => 3,\n priority => 1)",
    "CREATE QUERY `q`WITH(max_latency => INTERVAL 1 HOUR 30 MINUTES)",
)
TAILS = (
    "FORCE AS SELECT a  -- WITH (weight => 9)\n FROM s [RANGE 2 SECONDS]",
    "AS WITH c AS (SELECT a FROM s) SELECT 'WITH (x' AS b FROM c INTO files(path => 'x')",
)


@given(st.sampled_from(HEADS), st.sampled_from(TAILS), goals, goals)
def test_the_text_defines_the_same_query_with_other_goals(
    head: str, tail: str, first: Goals, second: Goals
) -> None:
    (before,) = parse(head + tail)
    assert isinstance(before, CreateQuery)
    definition = before.definition
    for each in (first, second):
        text = amended(definition, each)
        (after,) = parse(text)
        assert isinstance(after, CreateQuery)
        assert after.definition == replace(definition, goals=each, text=text)
        assert (after.or_replace, after.if_not_exists) == (before.or_replace, before.if_not_exists)
        assert text.endswith(tail)
        assert text.startswith(head.partition("WITH")[0] if "--" not in head else head)
        definition = after.definition


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("weight => 3", Goals(timedelta(seconds=2), None, 3.0, 7)),
        ("max_latency => NULL, priority => 0", Goals(None, None, 2.0, 0)),
        ("weight => NULL, priority => NULL, max_error => 0", Goals(timedelta(seconds=2))),
    ],
)
def test_what_is_not_named_stays_and_null_is_what_a_query_has_by_itself(
    written: str, expected: Goals
) -> None:
    (altered,) = parse(f"ALTER QUERY q SET ({written})")
    assert isinstance(altered, AlterQuery)
    assert altered.terms.applied(Goals(timedelta(seconds=2), None, 2.0, 7)) == expected


@given(goals, goals, st.sets(st.sampled_from(("max_latency", "weight", "priority"))))
def test_terms_that_are_applied_again_change_nothing(
    old: Goals, new: Goals, names: set[str]
) -> None:
    terms = Terms(tuple(names), new)
    once = terms.applied(old)
    assert terms.applied(once) == once
    assert all(
        getattr(once, name) == getattr(new if name in names else old, name)
        for name in ("max_latency", "max_error", "weight", "priority")
    )
