from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from penstock.errors import PenstockError
from penstock.model.windows import Window
from penstock.sql import (
    CreateQuery,
    Punctuate,
    SelectOnce,
    Statement,
    parse,
    parse_select,
    to_sql,
    window_of,
)
from penstock.sql.dialect.windows import window_sql
from tests.examples import examples
from tests.unit.sql.texts import WORDS, expressions, mutated, windows

patient = settings(deadline=None, max_examples=examples(300))


def outcome(text: str) -> list[Statement] | PenstockError:
    try:
        return parse(text)
    except PenstockError as error:
        return error


def check(text: str) -> None:
    """Refused texts have a place that can be shown; what parses survives printing."""
    found = outcome(text)
    if isinstance(found, PenstockError):
        assert found.place is not None
        assert found.place.source == text
        assert found.place.caret() in str(found)
        return
    for statement in found:
        if isinstance(statement, CreateQuery | SelectOnce):
            assert parse_select(to_sql(statement.select)) == statement.select
        if isinstance(statement, Punctuate):
            (again,) = parse(f"PUNCTUATE s WHERE {to_sql(statement.condition)}")
            assert isinstance(again, Punctuate)
            assert again.condition == statement.condition


@patient
@given(st.text())
def test_any_text_parses_or_is_refused_with_its_place(text: str) -> None:
    check(text)


@patient
@given(st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join))
def test_any_words_parse_or_are_refused_and_what_parses_survives_printing(text: str) -> None:
    check(text)


@patient
@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_any_select_parses_or_is_refused_and_what_parses_survives_printing(text: str) -> None:
    check(f"SELECT {text}")


@patient
@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_any_clauses_and_conditions_parse_or_are_refused(text: str) -> None:
    check(f"CREATE STREAM s (a INT) FROM push() {text}")
    check(f"CREATE QUERY q AS SELECT a FROM s {text}")
    check(f"PUNCTUATE s WHERE {text}")


@patient
@given(mutated())
def test_a_damaged_statement_parses_or_is_refused_and_survives_printing(text: str) -> None:
    check(text)


@patient
@given(expressions, windows, expressions)
def test_spark_s_expressions_and_windows_parse_and_survive_printing(
    shown: str, window: Window, condition: str
) -> None:
    text = f"SELECT {shown} AS x FROM s [{window_sql(window)}] AS t WHERE {condition}"
    tree = parse_select(text)
    (table,) = tree.find_all(exp.Table)
    assert window_of(table) == window
    assert parse_select(to_sql(tree)) == tree


@patient
@given(expressions)
def test_any_expression_can_be_an_option(text: str) -> None:
    assert len(parse(f"CREATE TABLE t FROM f(x => {text})")) == 1
