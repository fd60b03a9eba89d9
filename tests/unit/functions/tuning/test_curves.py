import math

from hypothesis import given
from hypothesis import strategies as st

from penstock.functions.tuning.curves import CostCurve, TimedWindow, fit

SIZES = (256, 1024, 4096, 16384)
COSTS = st.floats(1e-9, 1e-3)


@given(st.builds(CostCurve, COSTS, COSTS, COSTS, st.floats(0, 1e-9)), st.sampled_from(SIZES))
def test_a_curve_is_the_sum_of_its_terms(curve: CostCurve, size: int) -> None:
    log = math.log2(size)
    terms = (curve.fixed, curve.linear * size, curve.loglinear * size * log, curve.square * size**2)
    assert math.isclose(curve.at(size), sum(terms))


@given(st.builds(CostCurve, COSTS, COSTS, COSTS), st.integers(1, 20000), st.integers(1, 20000))
def test_a_curve_never_falls(curve: CostCurve, one: int, other: int) -> None:
    less, more = sorted((one, other))
    assert curve.at(less) <= curve.at(more)


@given(st.builds(CostCurve, COSTS, COSTS, COSTS, COSTS))
def test_a_fit_gives_back_what_a_curve_says_between_its_samples(curve: CostCurve) -> None:
    fitted = fit(TimedWindow(size, curve.at(size)) for size in SIZES)
    assert all(
        math.isclose(fitted.at(size), curve.at(size), rel_tol=0.1)
        for size in (*SIZES, 512, 2048, 8192)
    )


@given(st.sampled_from(SIZES), COSTS, st.integers(0, 4))
def test_a_fit_knows_n_log_n_and_is_not_led_by_outliers(slow: int, cost: float, tail: int) -> None:
    true = CostCurve(loglinear=cost)
    samples = [TimedWindow(size, true.at(size)) for size in SIZES for _ in range(5)]
    fitted = fit([*samples, *[TimedWindow(slow, 1e9)] * tail])
    assert math.isclose(fitted.loglinear, cost, rel_tol=1e-6)


def test_one_size_promises_nothing_of_parts() -> None:
    fitted = fit([TimedWindow(1000, 0.5)])
    assert fitted.at(1000) == 2 * fitted.at(500)
    assert fit([]) == CostCurve()


@given(st.lists(st.builds(TimedWindow, st.sampled_from(SIZES), st.floats(0, 10)), min_size=1))
def test_no_fit_falls_below_zero(samples: list[TimedWindow]) -> None:
    fitted = fit(samples)
    assert min(fitted.fixed, fitted.linear, fitted.loglinear, fitted.square) >= 0
