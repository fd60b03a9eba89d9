import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.monitor.durations import (
    ACCURACY,
    LEAST_SECONDS,
    MINUTE,
    SPANS,
    START,
    TEN_MINUTES,
    Durations,
)

SECONDS = st.floats(LEAST_SECONDS, 1e5)
COUNTED = st.lists(st.tuples(SECONDS, st.integers(1, 50)), min_size=1, max_size=40)


def weighed(counted: list[tuple[float, int]], share: float) -> float:
    """Return the quantile by its definition: the value at the rank of each row by itself."""
    rows = sorted(value for value, weight in counted for _ in range(weight))
    return rows[max(0, math.ceil(share * len(rows) * (1 - 1e-12)) - 1)]


@given(COUNTED, st.floats(0.001, 1))
def test_a_quantile_is_that_of_the_rows_within_the_accuracy(
    counted: list[tuple[float, int]], share: float
) -> None:
    durations = Durations()
    for seconds, rows in counted:
        durations.add(seconds, rows, 0.0)
    for span in SPANS:
        found = durations.quantile(share, 0.0, span)
        assert found == pytest.approx(weighed(counted, share), rel=ACCURACY * 1.001)
        assert durations.weight(0.0, span) == sum(rows for _, rows in counted)


@given(st.lists(st.tuples(st.floats(0, 200), SECONDS), max_size=40), st.floats(0, 900))
def test_a_span_has_what_is_younger_and_nothing_that_is_older(
    gaps: list[tuple[float, float]], silence: float
) -> None:
    durations, now, added = Durations(), 1000.0, []
    for gap, seconds in gaps:
        now += gap
        durations.add(seconds, 1, now)
        added.append(now)
    now += silence
    for span in (MINUTE, TEN_MINUTES):
        whole = span.seconds * span.slots
        young = sum(at > now - (whole - span.seconds) for at in added)
        not_old = sum(at > now - whole for at in added)
        assert young <= durations.weight(now, span) <= not_old
    assert durations.weight(now, START) == len(added)


@given(COUNTED, st.lists(SECONDS, unique=True).map(sorted))
def test_counts_up_to_limits_are_those_of_the_rows_within_the_accuracy(
    counted: list[tuple[float, int]], limits: list[float]
) -> None:
    durations, before = Durations(), [0.0] * (len(limits) + 1)
    for seconds, rows in counted:
        durations.add(seconds, rows, 0.0)
        found = durations.at_most(limits)
        assert all(old <= new for old, new in zip(before, found, strict=True))
        before = found
    assert found == sorted(found)
    assert found[-1] == sum(rows for _, rows in counted)
    for limit, many in zip(limits, found, strict=False):
        assert many >= sum(rows for seconds, rows in counted if seconds <= limit)
        near = limit * (1 + 2.1 * ACCURACY)
        assert many <= sum(rows for seconds, rows in counted if seconds <= near)


def test_what_took_no_time_or_is_no_number_took_nothing() -> None:
    durations = Durations()
    for seconds in (0.0, -3.0, math.nan):
        durations.add(seconds, 1, 0.0)
    assert durations.quantile(1.0, 0.0) == 0.0


def test_without_any_there_is_no_quantile() -> None:
    assert all(Durations().quantile(0.5, 0.0, span) is None for span in SPANS)


def test_a_clock_that_is_set_back_loses_nothing() -> None:
    durations = Durations()
    durations.add(1.0, 1, 5000.0)
    durations.add(1.0, 1, 100.0)
    assert durations.weight(100.0, START) == 2
    assert durations.weight(5000.0, MINUTE) == 2
