import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.load.trend import Trend


def follow(rates: list[float], every: float = 0.25) -> Trend:
    trend = Trend()
    for number, rate in enumerate(rates):
        trend = trend.add(rate, number * every)
    return trend


def test_a_constant_rate_stays() -> None:
    assert follow([50.0] * 40).ahead(5.0) == pytest.approx(50.0)


def test_a_rate_that_grows_is_seen_ahead() -> None:
    trend = follow([10.0 + n for n in range(80)])  # 4 more each second, 89 at the end
    assert trend.ahead(3.0) == pytest.approx(89 + 12, rel=0.05)


def test_a_step_is_believed_within_seconds() -> None:
    trend = follow([10.0] * 20 + [100.0] * 12)
    assert trend.ahead(0.0) > 90


def test_after_a_step_down_the_rate_is_not_taken_for_less_than_it_is() -> None:
    levels = [follow([100.0] * 40 + [20.0] * n).level for n in range(1, 40)]
    assert min(levels) >= 20
    assert levels[-1] == pytest.approx(20.0, rel=0.01)


@given(st.lists(st.floats(0, 1e6), max_size=40), st.floats(0, 10))
def test_no_rate_is_below_zero(rates: list[float], seconds: float) -> None:
    assert follow(rates).ahead(seconds) >= 0


def test_time_does_not_go_back() -> None:
    trend = follow([10.0, 20.0])
    assert trend.add(99.0, 0.1) == trend
