from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadOptionError
from penstock.model.definitions import Connector, Expression, Option, Secret
from penstock.sql import CreateTable, parse
from penstock.sql.dialect.intervals import duration_sql


def connector(text: str) -> Connector:
    (statement,) = parse(f"CREATE TABLE t FROM {text}")
    assert isinstance(statement, CreateTable)
    return statement.definition.source


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a'", "a"),
        ('"a"', "a"),
        ("'it''s'", "it's"),
        ("'it\\'s'", "it's"),
        ("r'\\d'", "\\d"),
        ("'a' 'b'", "ab"),
        ("secret('PW')", Secret("PW")),
        ("SECRET('pw_2')", Secret("pw_2")),
        ("1", 1),
        ("-1", -1),
        ("1.5", 1.5),
        ("-1e3", -1000.0),
        ("TRUE", True),
        ("false", False),
        ("INTERVAL 2 SECONDS", timedelta(seconds=2)),
        ("TIMESTAMP '2026-01-31'", Expression("CAST('2026-01-31' AS TIMESTAMP)")),
        ("NULL", Expression("NULL")),
        ("concat('car', n % 50)", Expression("concat('car', n % 50)")),
        ("1 + 1", Expression("1 + 1")),
        ("INTERVAL 1 DAY * 2", Expression("INTERVAL '1' DAY * 2")),
        ("INTERVAL n SECONDS", Expression("INTERVAL n SECONDS")),
        ("path", Expression("path")),
    ],
)
def test_an_option_is_a_literal_or_the_text_of_an_expression(text: str, value: Option) -> None:
    assert connector(f"f(x => {text})") == Connector("f", (("x", value),))


def test_names_of_connectors_and_options_are_in_lower_case() -> None:
    assert connector("Files(PATH => 'A', Format => 'B')") == Connector(
        "files", (("path", "A"), ("format", "B"))
    )


def test_an_option_s_name_may_have_dots_and_may_be_a_keyword() -> None:
    found = connector("kafka(kafka.bootstrap.servers => 'x', `a.b` => 1, select => 2, from => 3)")
    assert [name for name, _ in found.options] == [
        "kafka.bootstrap.servers",
        "a.b",
        "select",
        "from",
    ]


def literal(value: Option) -> str:
    match value:
        case bool() | int() | float():
            return str(value)
        case timedelta():
            return f"INTERVAL {duration_sql(value)}"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case Expression(sql):
            return sql


texts = st.text(st.characters(exclude_categories=["Cs"]))
values: st.SearchStrategy[Option] = (
    texts
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.timedeltas()
)


@settings(deadline=None)
@given(values)
def test_a_value_reads_as_it_was_written(value: Option) -> None:
    found = connector(f"f(x => {literal(value)})").option("x")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["secret(PW)", "secret()", "secret('../x')", "secret('A', 'B')"])
def test_a_secret_is_named_by_one_plain_name(text: str) -> None:
    with pytest.raises(BadOptionError):
        connector(f"files(path => {text})")
