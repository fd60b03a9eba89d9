from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.contracts.warmth import MOST_SECONDS, WARM_ANSWERS, WARM_SECONDS, is_warm


def test_a_query_is_warm_after_some_answers_and_some_seconds() -> None:
    assert is_warm(WARM_ANSWERS, WARM_SECONDS)
    assert not is_warm(WARM_ANSWERS - 1, WARM_SECONDS)
    assert not is_warm(1000, WARM_SECONDS - 0.1)


def test_a_query_that_seldom_answers_is_warm_in_the_end() -> None:
    assert is_warm(1, MOST_SECONDS)


@given(st.integers(0, 99), st.floats(0, 99), st.integers(0, 9), st.floats(0, 9))
def test_what_is_warm_stays_warm(answers: int, seconds: float, more: int, later: float) -> None:
    assert is_warm(answers + more, seconds + later) >= is_warm(answers, seconds)
