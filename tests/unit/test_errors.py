import pytest

from penstock.errors import Place


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
