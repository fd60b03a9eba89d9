import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import (
    LINE,
    LONGEST,
    SHOWN,
    PenstockError,
    Place,
    SqlError,
    describe,
    quoted_value,
    shortened,
)


@pytest.mark.parametrize(
    ("source", "column", "shown"),
    [
        ("SELECT a", 8, "SELECT a\n       ^"),
        ("SELECT '雨' FRM s", 12, "SELECT '雨' FRM s\n            ^"),
        ("'雨雪' x", 6, "'雨雪' x\n       ^"),
        ("ＡＢ x", 4, "ＡＢ x\n     ^"),  # noqa: RUF001  (fullwidth letters take two cells)
        ("é x", 3, "é x\n  ^"),
        ("\ta", 2, " a\n ^"),
        ("雨", 2, "雨\n  ^"),
        ("雨", 1, "雨\n^"),
    ],
)
def test_a_caret_stands_under_its_place_on_a_screen(source: str, column: int, shown: str) -> None:
    assert Place(1, column, source).caret() == shown


def test_a_caret_stands_under_its_own_line() -> None:
    assert Place(2, 2, "雨\n雪x").caret() == "雪x\n  ^"
    assert Place(9, 1, "a\nb").caret() == "b\n^"


def test_without_a_source_there_is_no_caret() -> None:
    assert Place(1, 1).caret() == ""


@given(st.text(), st.integers(60, 200))
def test_what_is_shortened_keeps_both_ends_and_its_length(text: str, most: int) -> None:
    short = shortened(text * 40, most)
    assert len(short) <= most
    assert short == text * 40 or (
        short[:10] == (text * 40)[:10] and f"({len(text * 40):,}" in short
    )


def test_no_error_repeats_a_long_text_whole() -> None:
    line = "x" * 100_000
    error = SqlError(f"unexpected {line}", hint=f"not {line}", place=Place(1, 50_000, line))
    assert len(str(error)) < 9_000
    assert len(describe(ValueError(line))) <= LONGEST
    assert len(quoted_value(line)) <= SHOWN


@given(st.integers(1, 1_000))
def test_a_caret_in_a_long_line_stands_under_its_own_character(column: int) -> None:
    line = "".join(chr(ord("a") + at % 26) for at in range(1_000))
    shown, caret = Place(1, column, line).caret().splitlines()
    assert len(shown) <= LINE + 2
    assert shown[len(caret) - 1] == line[column - 1]


def below(kind: type[PenstockError]) -> list[type[PenstockError]]:
    return [each for kind in kind.__subclasses__() for each in (kind, *below(kind))]


@pytest.mark.parametrize("kind", below(PenstockError), ids=lambda kind: kind.code)
def test_every_error_says_what_is_wrong_and_what_to_do(kind: type[PenstockError]) -> None:
    """The page of errors is made of these docstrings, so each has both parts."""
    sentence, _, advice = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")
    assert sentence.endswith(".")
    assert advice.endswith(".")


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in (PenstockError, *below(PenstockError))]
    assert len(set(codes)) == len(codes)
