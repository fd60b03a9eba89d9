from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from penstock.errors import Place
from penstock.sql import Punctuate, parse, to_sql


def punctuate(text: str) -> Punctuate:
    (statement,) = parse(text)
    assert isinstance(statement, Punctuate)
    return statement


def test_a_punctuation_has_its_stream_and_its_condition_s_tree() -> None:
    text = "PUNCTUATE traffic WHERE car_id = 'x'"
    condition = exp.column("car_id").eq("x")
    assert punctuate(text) == Punctuate(text, Place(1, 1, text), "traffic", condition)


conditions = st.lists(
    st.sampled_from(
        ["a = 1", "ts < TIMESTAMP '2026-01-01'", "b IN ('x', 'y')", "NOT c", "d + 1 > 2"]
    ),
    min_size=1,
    max_size=4,
)


@settings(deadline=None)
@given(conditions, st.sampled_from([" AND ", " OR "]))
def test_a_condition_survives_printing(parts: list[str], operator: str) -> None:
    found = punctuate(f"PUNCTUATE s WHERE {operator.join(parts)}").condition
    assert punctuate(f"PUNCTUATE s WHERE {to_sql(found)}").condition == found


def test_a_condition_knows_where_its_columns_stand() -> None:
    column = punctuate("PUNCTUATE s WHERE a = 1").condition.find(exp.Column)
    assert column is not None
    assert column.this.meta["start"] == 18
