import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import SqlError
from penstock.server.pg.text.lexer import Lexeme, statements_of, tokens_of

WRITTEN = """'it''s' E'a\\n' "a""b" `x` $1 $$a$$ $t$;$t$ -- /*a/*b*/*/
SELECT => :: 1.5e3 5L .5 ; ( [ é雨 a$b |"""
PIECES = st.lists(st.sampled_from(WRITTEN.split()), max_size=12)


@given(PIECES)
def test_tokens_stand_in_their_text_in_order_and_nothing_is_lost(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    tokens = tokens_of(text)
    ends = [0, *(token.end for token in tokens)]
    begins = [*(token.begin for token in tokens), len(text)]
    assert all(end <= begin for end, begin in zip(ends, begins, strict=True))
    kept = [piece for piece in pieces if not piece.startswith(("--", "/*")) and piece.strip()]
    assert [text[token.begin : token.end] for token in tokens] == kept


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("'it''s \\n'", Lexeme.STRING, "it's \\n"),
        ("e'it''s \\n \\x41 \\u00e9 \\'q \\101'", Lexeme.STRING, "it's \n A é 'q A"),
        ("$$it's$$", Lexeme.STRING, "it's"),
        ("$a$ $$ $a$", Lexeme.STRING, " $$ "),
        ('"A ""b"""', Lexeme.QUOTED, 'A "b"'),
        ("`A ``b`", Lexeme.QUOTED, "A `b"),
        ("$12", Lexeme.PARAMETER, "12"),
        ("R'a\\d'", Lexeme.RAW, "R'a\\d'"),
        ("1.5e-3", Lexeme.NUMBER, "1.5e-3"),
    ],
)
def test_a_token_says_what_postgresql_reads(text: str, kind: Lexeme, value: str) -> None:
    [token] = tokens_of(text)
    assert (token.kind, token.value) == (kind, value)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT 'a", 1, 8),
        ('SELECT\n "a', 2, 2),
        ("SELECT `a", 1, 8),
        ("x $a$ y", 1, 3),
        ("x /* /* */", 1, 3),
    ],
)
def test_what_is_not_closed_is_told_where_it_begins(text: str, line: int, column: int) -> None:
    with pytest.raises(SqlError) as caught:
        tokens_of(text)
    place = caught.value.place
    assert place is not None
    assert (place.line, place.column) == (line, column)


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        tokens_of(text)
    except SqlError as error:
        assert error.place is not None  # noqa: PT017  (only what is refused has an error)


def test_semicolons_part_statements_but_not_inside_strings() -> None:
    statements = statements_of(tokens_of("a; 'b;c' ;; \"d;\"; -- e;"))
    assert [[token.value for token in each] for each in statements] == [["a"], ["b;c"], ["d;"]]
