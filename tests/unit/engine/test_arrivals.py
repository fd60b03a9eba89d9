from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.interfaces.arrivals import (
    SECOND,
    Arrivals,
    Poisson,
    bmodel,
    burst,
    constant,
    uniforms,
)

PROFILES: dict[str, Callable[[float, int], Arrivals]] = {
    "constant": lambda rate, _: constant(rate),
    "poisson": Poisson,
    "burst": lambda rate, _: burst(rate, rate * 10, 10.0, 1.0),
    "bmodel": lambda rate, seed: bmodel(rate, 0.7, seed),
}
RATES = st.sampled_from([0.03, 1.0, 7.3, 1000.0, 123_456.789, 1e7])
SEEDS = st.integers(0, 2**40)
NUMBERS = st.integers(0, 10**7)

unhurried = settings(deadline=None)  # the machine may be busy
every_profile = pytest.mark.parametrize("profile", PROFILES)


@every_profile
@unhurried
@given(rate=RATES, seed=SEEDS, first=NUMBERS, cuts=st.lists(st.integers(0, 300), max_size=4))
def test_any_cut_gives_the_same_times(
    profile: str, rate: float, seed: int, first: int, cuts: list[int]
) -> None:
    whole = PROFILES[profile](rate, seed).times(first, sum(cuts))
    parts, arrivals = [], PROFILES[profile](rate, seed)
    place = first + sum(cuts)
    for cut in reversed(cuts):
        place -= cut
        parts.append(arrivals.times(place, cut))
    assert whole.tolist() == np.concatenate([np.empty(0), *reversed(parts)]).tolist()


@every_profile
@unhurried
@given(rate=RATES, seed=SEEDS, first=NUMBERS)
def test_times_never_go_back(profile: str, rate: float, seed: int, first: int) -> None:
    times = PROFILES[profile](rate, seed).times(first, 500)
    assert len(times) == 500
    assert times[0] >= 0
    assert (np.diff(times) >= 0).all()


@every_profile
@unhurried
@given(rate=RATES, seed=SEEDS, number=NUMBERS, later=st.integers(0, 10_000))
def test_due_counts_the_tuples_up_to_a_time(
    profile: str, rate: float, seed: int, number: int, later: int
) -> None:
    arrivals = PROFILES[profile](rate, seed)
    at = int(arrivals.times(number, 1)[0]) + later
    due = arrivals.due(at)
    assert due > number
    last, after = arrivals.times(due - 1, 2)
    assert last <= at < after


@every_profile
def test_nothing_is_due_before_the_start(profile: str) -> None:
    assert PROFILES[profile](1000.0, 0).due(-1) == 0


@pytest.mark.parametrize("profile", ["constant", "poisson", "bmodel"])
def test_the_mean_rate_is_kept(profile: str) -> None:
    assert PROFILES[profile](50.0, 3).due(6400 * SECOND) == pytest.approx(320_000, rel=0.01)


def test_poisson_gaps_are_exponential() -> None:
    gaps = np.diff(Poisson(100.0, 1).times(0, 200_000)) / SECOND
    assert gaps.mean() == pytest.approx(0.01, rel=0.02)
    assert gaps.std() == pytest.approx(0.01, rel=0.02)
    assert np.mean(gaps > 0.02) == pytest.approx(np.exp(-2), rel=0.05)


def test_a_burst_has_its_rate_at_the_end_of_each_cycle() -> None:
    arrivals = burst(10.0, 200.0, 10.0, 2.0)
    edges = [arrivals.due(second * SECOND - 1) for second in (0, 8, 10, 18, 20)]
    assert np.diff(edges).tolist() == [80, 400, 80, 400]


def test_a_bias_of_a_half_is_a_constant_rate() -> None:
    times = bmodel(100.0, 0.5, 9).times(0, 1000)
    assert times.tolist() == pytest.approx(constant(100.0).times(0, 1000).tolist(), abs=2)


def test_the_busiest_unit_of_a_b_model_has_the_largest_share_of_every_level() -> None:
    arrivals = bmodel(1000.0, 0.8, 5)
    unit = SECOND // 16
    counts = np.diff([arrivals.due(unit * at - 1) for at in range(1025)])
    assert counts.max() == pytest.approx(64_000 * 0.8**10, abs=2)


def test_a_b_model_is_burstier_than_poisson_on_every_scale() -> None:
    for scale in (1, 8):
        bursty, calm = (
            np.diff([one.due(scale * SECOND * at) for at in range(64 // scale)])
            for one in (bmodel(1000.0, 0.75, 2), Poisson(1000.0, 2))
        )
        assert bursty.std() / bursty.mean() > 5 * calm.std() / calm.mean()


def test_other_seeds_give_other_times() -> None:
    for profile in ("poisson", "bmodel"):
        one, other = (PROFILES[profile](1000.0, seed).times(0, 100) for seed in (1, 2))
        assert one.tolist() != other.tolist()


@unhurried
@given(seed=SEEDS, first=NUMBERS, cut=st.integers(0, 50))
def test_a_tuple_keeps_its_random_number(seed: int, first: int, cut: int) -> None:
    whole = uniforms(seed, first, 50)
    assert whole[cut:].tolist() == uniforms(seed, first + cut, 50 - cut).tolist()
    assert ((whole >= 0) & (whole < 1)).all()


def test_random_numbers_are_spread_evenly() -> None:
    counts, _ = np.histogram(uniforms(7, 0, 100_000), bins=10, range=(0, 1))
    assert counts.tolist() == pytest.approx([10_000] * 10, rel=0.05)
