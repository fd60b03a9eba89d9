import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.work.meter import KEPT_LATENCIES, RECENT_SECONDS, Meter

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


@given(st.lists(st.floats(0, 100), min_size=1, max_size=50), st.floats(0, 1))
@settings(deadline=None)
def test_latencies_are_quantiles_of_deliveries(latencies: list[float], share: float) -> None:
    meter = Meter()
    for latency in latencies:
        meter.delivered(3, latency, 0.0)
    assert meter.latency(share) == pytest.approx(float(np.quantile(latencies, share)))
    assert meter.rows == 3 * len(latencies)


def test_without_deliveries_there_is_no_latency() -> None:
    meter = Meter()
    meter.passed(5, 0.0)
    assert meter.latency(0.5) is None
    assert Meter().rate(0.0) == 0


def test_only_the_newest_latencies_are_kept() -> None:
    meter = Meter()
    meter.delivered(1, 1000.0, 0.0)
    for _ in range(KEPT_LATENCIES):
        meter.delivered(1, 1.0, 0.0)
    assert meter.latency(1.0) == 1.0
