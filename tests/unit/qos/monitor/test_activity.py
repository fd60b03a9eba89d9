import math

from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.monitor.activity import HALF_LIFE_SECONDS, NO_ACTIVITY


@given(st.floats(0.01, 2.0), st.floats(0.0, 1.0), st.integers(50, 400))
def test_what_is_done_evenly_has_its_share_of_the_time(
    every: float, share: float, times: int
) -> None:
    activity = NO_ACTIVITY
    for number in range(1, times):
        activity = activity.add(share * every, number * every)
    now = (times - 1) * every
    coarse = every * math.log(2) / HALF_LIFE_SECONDS  # a sum is no integral
    allowed = {"rel_tol": coarse + 2 / times, "abs_tol": 1e-9}
    assert math.isclose(activity.share(now), share, **allowed)
    assert math.isclose(activity.frequency(now), 1 / every, **allowed)


def test_what_is_done_no_more_is_forgotten() -> None:
    activity = NO_ACTIVITY
    for second in range(1, 61):
        activity = activity.add(0.5, float(second))
    shares = [activity.share(60.0 + later) for later in (0.0, 10.0, 20.0, 100.0)]
    assert shares == sorted(shares, reverse=True)
    assert math.isclose(shares[1], shares[0] / 2, rel_tol=0.02)
    assert shares[-1] < 0.001


def test_while_no_time_has_passed_nothing_is_told() -> None:
    assert NO_ACTIVITY.share(5.0) == NO_ACTIVITY.frequency(5.0) == 0.0
    assert NO_ACTIVITY.add(0.0, 5.0).share(5.0) == 0.0
    assert math.isclose(NO_ACTIVITY.add(2.0, 5.0).share(5.0), 1.0, rel_tol=0.08)
