import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.monitor.keys import COUNTERS, Keys
from penstock.qos.monitor.sampler import LEAST_SECONDS, MOST_SECONDS, RateSampler


@pytest.mark.parametrize("many", [10, 1000, 20_000, 300_000])
def test_the_number_of_keys_is_told_within_some_percent(many: int) -> None:
    keys = Keys()
    for train in np.array_split(np.arange(many) * 7919, 10):
        keys = keys.add(train).add(train)
    assert keys.cardinality == pytest.approx(many, rel=0.08)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=600), st.integers(1, 7))
def test_a_frequency_is_never_told_too_high_and_little_too_low(
    values: list[int], parts: int
) -> None:
    keys = Keys()
    for train in np.array_split(np.array(values), parts):
        keys = keys.add(train)
    top = max(values.count(each) for each in set(values))
    told = keys.top_share * len(values)
    assert told <= top + 1e-9
    assert told >= top - len(values) / (COUNTERS + 1) - 1e-9


def test_skew_is_one_where_keys_are_alike_and_more_where_they_are_not() -> None:
    drawn = np.random.default_rng(1)
    alike, unlike = Keys(), Keys()
    for _ in range(10):
        alike = alike.add(drawn.integers(0, 50, 1000))
        unlike = unlike.add(np.minimum(drawn.zipf(1.5, 1000), 5000))
    assert alike.skew < 1.5
    assert unlike.skew > 20


def looks(rates: list[float], step: float = 0.05) -> tuple[RateSampler, int]:
    """Return the sampler after rates of a second each, and how often it looked."""
    sampler, count, times, now = RateSampler(), 0.0, 0, 0.0
    for rate in rates:
        for _ in range(round(1 / step)):
            now, count = now + step, count + rate * step
            after = sampler.look(round(count), now)
            times += after is not sampler
            sampler = after
    return sampler, times


def test_a_steady_rate_is_looked_at_seldom_and_a_restless_one_often() -> None:
    steady, few = looks([200.0] * 60)
    restless, many = looks([40.0, 400.0] * 30)
    assert steady.interval == MOST_SECONDS
    assert restless.interval == LEAST_SECONDS
    assert few < many / 5
    assert steady.rate == pytest.approx(200.0, rel=0.05)
    assert restless.burstiness > 1.5 > steady.burstiness


def test_a_rate_that_changes_is_looked_at_again_soon() -> None:
    sampler, _ = looks([200.0] * 60 + [900.0] * 20)
    assert sampler.interval < MOST_SECONDS
    assert sampler.rate == pytest.approx(900.0, rel=0.05)


def test_silence_for_an_hour_and_then_a_flood_is_a_rate_like_any_other() -> None:
    sampler, _ = looks([100.0] * 10 + [0.0] * 120 + [5000.0] * 20)
    assert sampler.rate == pytest.approx(5000.0, rel=0.05)
    assert RateSampler().burstiness == 1.0
