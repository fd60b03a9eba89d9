import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.explain.abridged import abridged, few


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1", "SELECT 1"),
        ("array(1, 2, 3, 4)", "array(1, 2, 3, 4)"),
        ("get(array(1L, 2L, 3L, 4L, 5L), p) < 2", "get(array(1L, 2L, 3L, …, 5L), p) < 2"),
        (r"array('a, (', '\'b', '`', 'd', 'e')", r"array('a, (', '\'b', '`', …, 'e')"),
        ("array(f(1, 2), f(3), f(4), f(5), f(6))", "array(f(1, 2), f(3), f(4), …, f(6))"),
        ("array(array(1, 2, 3, 4, 5), 6)", "array(array(1, 2, 3, …, 5), 6)"),
        ("myarray(1, 2, 3, 4, 5, 6)", "myarray(1, 2, 3, 4, 5, 6)"),
        ("`array(1, 2, 3, 4, 5)`", "`array(1, 2, 3, 4, 5)`"),
        ("array()", "array()"),
    ],
)
def test_only_the_middle_of_long_arrays_goes(sql: str, expected: str) -> None:
    assert abridged(sql) == expected


@given(st.text(alphabet="a(),'`\\ \"[]0"))
def test_what_has_no_array_stays_as_it_is(text: str) -> None:
    assert abridged(text) == text


def test_ten_names_are_shown() -> None:
    names = [f"q{n}" for n in range(1_012)]
    assert few(names[:10]) == "q0, q1, q2, q3, q4, q5, q6, q7, q8, q9"
    assert few(names[:11]).endswith("q9 and 1 more")
    assert few(names).endswith("q9 and 1,002 more")
    assert few([]) == ""
