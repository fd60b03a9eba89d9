import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import WireError
from penstock.server.pg.sqlstate import refused
from penstock.server.pg.text.lexer import Lexeme, tokens_of
from penstock.server.pg.text.translate import parameters_in, translated, type_names
from penstock.sql import parse_select


def none(number: int) -> str:
    raise refused("42P02", f"there is no parameter ${number}")


def told(text: str) -> str:
    return translated(text, tokens_of(text), none).text


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('SELECT "a""b" FROM s', 'SELECT `a"b` FROM s'),
        ("SELECT 'it''s \\d'", "SELECT 'it\\'s \\\\d'"),
        ("SELECT E'\\t'", "SELECT '\t'"),
        ("SELECT public.s.x FROM public.s", "SELECT s.x FROM s"),
        ('SELECT * FROM "public"."S"', "SELECT * FROM `S`"),
        ("SELECT x.public.y", "SELECT x.public.y"),
        ("SELECT x::int4, y::double precision", "SELECT x::INT, y::DOUBLE "),
        ("SELECT x::numeric", "SELECT x::DECIMAL(38, 18)"),
        ("SELECT x::numeric(5, 2)", "SELECT x::numeric(5, 2)"),
        ("SELECT CAST(f(x, (y)) AS text) AS text", "SELECT CAST(f(x, (y)) AS STRING) AS text"),
        ("SELECT $x$a$x$::text[], y[0]", "SELECT 'a'::ARRAY<STRING>, y[0]"),
        ("SELECT CAST(x AS bigint[]) AS y", "SELECT CAST(x AS ARRAY<BIGINT>) AS y"),
        ("SELECT x LIMIT 5::int8 OFFSET 2::INTEGER", "SELECT x LIMIT 5 OFFSET 2"),
        ("SELECT x AS varchar", "SELECT x AS varchar"),
        (
            "SELECT extract(epoch from ts)/300",
            "SELECT (unix_micros(  ts) / 1e6)/300",
        ),
        ("SELECT extract(year from ts)", "SELECT extract(year from ts)"),
        ("SELECT a -- b\n, c /* d\n\n */ FROM s [RANGE 5 SECONDS]", None),
    ],
)
def test_what_the_languages_write_differently_is_changed(written: str, meant: str | None) -> None:
    assert told(written) == (meant or "SELECT a \n, c \n\nFROM s [RANGE 5 SECONDS]")


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(TEXTS)
def test_a_string_stays_the_same_value(value: str) -> None:
    written = "SELECT '" + value.replace("'", "''") + "' AS x"
    assert parse_select(told(written)).expressions[0].this.name == value


@given(TEXTS.filter(bool))
def test_a_quoted_name_stays_the_same_name(name: str) -> None:
    written = 'SELECT 1 AS "' + name.replace('"', '""') + '"'
    assert parse_select(told(written)).expressions[0].alias == name


@given(st.lists(st.sampled_from(["a", "'x\\'", '"n"', "::int8", "public.", "/* c */", "\n"])))
def test_a_place_comes_from_where_its_token_stood(pieces: list[str]) -> None:
    text = " ".join(pieces) + " here"
    result = translated(text, tokens_of(text), none)
    assert result.origin(result.text.rindex("here")) == text.rindex("here")


def test_parameters_are_filled_in_by_number_and_nowhere_else() -> None:
    text = "SELECT $2, '$1', \"$1\", $1"
    assert translated(text, tokens_of(text), lambda n: f"<{n}>").text == (
        "SELECT <2>, '$1', `$1`, <1>"
    )
    assert parameters_in(tokens_of(text)) == 2


def test_a_parameter_that_is_not_there_is_refused() -> None:
    with pytest.raises(WireError) as caught:
        told("SELECT $1")
    assert caught.value.state == "42P02"


def test_types_of_parameters_are_seen_in_casts_and_limits() -> None:
    tokens = tokens_of("SELECT $1::int4, CAST($2 AS text), $3::int8[] FROM s LIMIT $4 OFFSET $5")
    seen = {1: "int4", 2: "text", 3: "int8[]", 4: "int8", 5: "int8"}
    assert type_names(tokens) == seen
    assert tokens[1].kind is Lexeme.PARAMETER


def test_a_long_statement_is_read_once() -> None:
    names = ", ".join(f"a AS b{number}" for number in range(10_000))
    assert told(f"SELECT {names} FROM s") == f"SELECT {names} FROM s"
    deep = "extract(epoch from " * 2_000 + "ts" + ")" * 2_000
    meant = "(unix_micros(  " * 2_000 + "ts" + ") / 1e6)" * 2_000
    assert told(f"SELECT {deep}").split() == f"SELECT {meant}".split()
