import pytest

from penstock.cli.shell.statement_end import is_complete


@pytest.mark.parametrize(
    "text",
    [
        "SHOW STREAMS;",
        "SHOW STREAMS;  \n",
        "SELECT ';';",
        "SELECT 1; -- done",
        "SELECT 1; /* done; */",
        "SELECT 'it''s';",
        r"SELECT 'it\'s';",
        'SELECT "a;b";',
        "SELECT `a;b`;",
        "SELECT 1;\nSELECT 2;",
        "-- a comment with a ' in it\nSELECT 1;",
    ],
)
def test_a_semicolon_ends_a_statement(text: str) -> None:
    assert is_complete(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT 1",
        "SELECT ';",
        "SELECT ';'",
        "SELECT 1 -- ;",
        "SELECT 1 /* ;",
        "SELECT `a;",
        'SELECT ";',
        "SELECT 1;\nSELECT 2",
        "SELECT 'a\n;",
    ],
)
def test_a_semicolon_in_a_string_name_or_comment_ends_nothing(text: str) -> None:
    assert not is_complete(text)
