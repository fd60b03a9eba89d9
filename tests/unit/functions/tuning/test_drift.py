from hypothesis import given
from hypothesis import strategies as st

from penstock.functions.tuning.drift import LAST, RATE_FACTOR, SIZE_FACTOR, drift

NOISE = st.lists(st.floats(1 / 1.9, 1.9), min_size=LAST, max_size=80)
RATES = st.floats(0.01, 1e5)


@given(RATES, NOISE)
def test_noise_within_the_factor_never_is_drift(was: float, noise: list[float]) -> None:
    assert drift(was, [was * each for each in noise], RATE_FACTOR) is None


@given(RATES, st.lists(st.floats(0, 1e9), max_size=LAST // 2), st.randoms())
def test_outliers_are_no_drift_while_they_are_fewer_than_half(
    was: float, outliers: list[float], random: object
) -> None:
    seen = [*outliers, *[was] * (LAST - len(outliers))]
    random.shuffle(seen)  # type: ignore[attr-defined]
    assert drift(was, seen, RATE_FACTOR) is None


@given(RATES, NOISE, st.sampled_from([0.2, 0.4, 2.5, 10]))
def test_a_change_that_stays_is_seen_after_half_of_the_observations(
    was: float, noise: list[float], factor: float
) -> None:
    before = [was * each for each in noise]
    after = [was * factor] * (LAST // 2 + 1)
    assert drift(was, [*before, *after], RATE_FACTOR) is not None


@given(st.sampled_from([256, 1024, 16384]), st.sampled_from([0.5, 2]))
def test_another_window_size_is_seen_and_told(size: int, factor: float) -> None:
    assert drift(size, [size * factor] * LAST, SIZE_FACTOR) == size * factor


def test_too_few_observations_say_nothing() -> None:
    assert drift(1.0, [50.0] * (LAST - 1), RATE_FACTOR) is None
