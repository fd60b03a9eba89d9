import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BadOptionError
from penstock.sim.workloads.arrivals import (
    b_model,
    bursty,
    constant,
    mean_rate,
    poisson,
    rows_of,
    trains,
)

SEEDED = {
    "poisson": poisson,
    "bursty": bursty,
    "b_model": lambda rate, seconds, seed: b_model(rate, seconds, seed, bias=0.7),
}


@pytest.mark.parametrize("name", SEEDED)
@given(seed=st.integers(0, 1000))
@settings(deadline=None, max_examples=10)
def test_times_come_in_order_inside_their_span_and_the_same_for_a_seed(
    name: str, seed: int
) -> None:
    times = SEEDED[name](100.0, 10.0, seed)
    assert np.all(np.diff(times) >= 0)
    assert not len(times) or (times[0] >= 0 and times[-1] <= 10.0)
    assert np.array_equal(times, SEEDED[name](100.0, 10.0, seed))


def test_rates_are_kept_on_the_whole() -> None:
    assert len(constant(100, 10)) == 1000
    assert len(poisson(100, 100, 1)) == pytest.approx(10_000, rel=0.05)
    assert len(bursty(100, 1000, 1)) == pytest.approx(100_000, rel=0.25)
    assert len(b_model(100, 100, 1, bias=0.8)) == pytest.approx(10_000, rel=0.001)


def test_bias_makes_bursts() -> None:
    def peak(bias: float) -> int:
        return max(each.rows for each in trains(b_model(1000, 20, 3, bias=bias), 0.1))

    assert peak(0.5) < peak(0.7) < peak(0.9)


@given(st.lists(st.floats(0, 10), max_size=50))
def test_trains_have_every_tuple_once_and_none_longer_than_a_tick(times: list[float]) -> None:
    found = trains(np.sort(np.array(times)), 0.5)
    assert rows_of(found) == len(times)
    assert all(0 <= each.last - each.first <= 0.5 for each in found)
    assert all(a.last <= b.first for a, b in itertools.pairwise(found))


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan")])
def test_rates_out_of_range_are_refused(rate: float) -> None:
    with pytest.raises(BadOptionError):
        constant(rate, 1.0)


def test_shapes_out_of_range_are_refused() -> None:
    with pytest.raises(BadOptionError):
        b_model(1, 1, 1, bias=0.4)
    with pytest.raises(BadOptionError):
        bursty(1, 1, 1, factor=1.0)


def test_a_stream_without_tuples_has_no_trains() -> None:
    assert trains(np.array([])) == []
    assert mean_rate([]) == 1.0
