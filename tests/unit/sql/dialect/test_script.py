import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import Place
from penstock.sql import parse
from tests.unit.sql.texts import STATEMENTS

GAPS = ("", " ", "\n", "\r\n", "\t", "-- a; comment\n", "/* a; /* nested */ comment */", "\n\n  ")
gaps = st.lists(st.sampled_from(GAPS), max_size=3).map("".join)


@settings(deadline=None)
@given(st.lists(st.tuples(gaps, st.sampled_from(STATEMENTS), gaps), max_size=5))
def test_statements_come_out_as_they_went_in(parts: list[tuple[str, str, str]]) -> None:
    script = "".join(f"{before}{text}{after};" for before, text, after in parts)
    assert [statement.text for statement in parse(script)] == [text for _, text, _ in parts]


@settings(deadline=None)
@given(st.lists(st.tuples(gaps, st.sampled_from(STATEMENTS)), min_size=1, max_size=4))
def test_a_statement_s_text_stands_at_its_place(parts: list[tuple[str, str]]) -> None:
    script = ";".join(before + text for before, text in parts)
    for statement in parse(script):
        lines = script.splitlines(keepends=True)[statement.place.line - 1 :]
        assert "".join(lines)[statement.place.column - 1 :].startswith(statement.text)


@pytest.mark.parametrize("text", ["", " ", ";", ";;\n;", "-- nothing", "/* nothing */;"])
def test_a_script_without_statements_is_empty(text: str) -> None:
    assert parse(text) == []


def test_the_last_semicolon_may_be_left_out() -> None:
    assert [one.text for one in parse("SHOW STREAMS; SHOW TABLES")] == [
        "SHOW STREAMS",
        "SHOW TABLES",
    ]


def test_comments_around_a_statement_are_not_its_text_and_comments_inside_are() -> None:
    (statement,) = parse("-- before\nSHOW /* inside */ STREAMS -- behind\n;")
    assert statement.text == "SHOW /* inside */ STREAMS"
    assert statement.place == Place(2, 1, statement.place.source)
