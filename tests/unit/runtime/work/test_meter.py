import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.work.meter import RECENT_SECONDS, Meter

PASSED = st.lists(st.tuples(st.floats(0, 5), st.integers(0, 100)), max_size=30)


@given(PASSED)
@settings(deadline=None)
def test_rows_are_counted_and_the_rate_is_that_of_the_recent_past(
    passed: list[tuple[float, int]],
) -> None:
    meter, now = Meter(), 100.0
    moments: list[tuple[float, int]] = []
    for gap, rows in passed:
        now += gap
        meter.passed(rows, now)
        moments.append((now, rows))
    assert meter.rows == sum(rows for _, rows in passed)
    recent = [(at, rows) for at, rows in moments if at > now - RECENT_SECONDS]
    span = max(1.0, now - recent[0][0]) if recent else 1.0
    assert meter.rate(now) == pytest.approx(sum(rows for _, rows in recent) / span)
    assert meter.rate(now + RECENT_SECONDS + 1) == 0


def test_latency_and_delay_weigh_by_rows() -> None:
    meter = Meter()
    meter.took(1, 9.0, 8.0, 0.0)
    meter.took(99, 1.0, 0.5, 0.0)
    assert meter.latencies.quantile(0.5, 0.0) == pytest.approx(1.0, rel=0.03)
    assert meter.delays.quantile(0.5, 0.0) == pytest.approx(0.5, rel=0.03)
    assert (meter.timed_rows, meter.latency_seconds, meter.delay_seconds) == (100, 108.0, 57.5)


def test_rows_that_are_not_timed_have_no_latency() -> None:
    meter = Meter()
    meter.passed(5, 0.0)
    assert meter.latencies.quantile(0.5, 0.0) is None
    assert Meter().rate(0.0) == 0
