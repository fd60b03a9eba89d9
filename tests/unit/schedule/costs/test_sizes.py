"""What runs of so many tuples take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.schedule.costs.sizes import OLD_SECONDS, Sizes

RUNS = st.lists(st.tuples(st.integers(1, 10**6), st.floats(0.001, 10.0)), min_size=1, max_size=40)


def seen(runs: list[tuple[int, float]]) -> Sizes:
    sizes = Sizes()
    for now, (rows, seconds) in enumerate(runs):
        sizes = sizes.add(rows, seconds, float(now))
    return sizes


@given(st.floats(0.01, 1.0), st.floats(1e-6, 1e-3))
def test_runs_on_a_line_are_told_exactly(run: float, each: float) -> None:
    sizes = seen([(rows, run + rows * each) for rows in (64, 1_000, 30_000)])
    for rows in (64, 500, 1_000, 20_000, 30_000):
        assert sizes.seconds(rows) == pytest.approx(run + rows * each)
    assert sizes.seconds(120_000) == pytest.approx(2 * (run + 30_000 * each))


@given(RUNS, st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_larger_run_takes_no_less(runs: list[tuple[int, float]], one: int, other: int) -> None:
    sizes = seen(runs)
    small, large = sorted((one, other))
    assert sizes.seconds(small) <= sizes.seconds(large) + 1e-9


def test_small_runs_say_nothing_against_large_ones() -> None:
    sizes = seen([(100, 0.15), (110, 0.3), (90, 0.2)])
    assert sizes.cost(100_000) < 0.1 * sizes.cost(100)


def test_what_compiled_is_forgotten() -> None:
    sizes = seen([(10_000, 3.0), (10_000, 0.6), (10_000, 0.6), (10_000, 0.6), (10_000, 0.6)])
    assert sizes.seconds(10_000) == pytest.approx(0.6, rel=0.3)
    assert seen([(10_000, 3.0), (40_000, 1.5)]).seconds(10_000) == 1.5


def test_what_is_old_is_forgotten_once_there_is_something_newer() -> None:
    sizes = Sizes().add(10_000, 3.0, 0.0)
    assert sizes.seconds(10_000) == 3.0
    assert sizes.add(100, 0.1, OLD_SECONDS + 1).seconds(10_000) == 1.0


def test_nothing_is_known_of_no_runs() -> None:
    assert Sizes().seconds(5) == 0.0
    assert Sizes().add(0, 1.0, 0.0) == Sizes()


@given(RUNS, st.floats(0.001, 20.0))
def test_a_run_of_what_may_take_so_long_takes_no_longer(
    runs: list[tuple[int, float]], seconds: float
) -> None:
    sizes = seen(runs)
    rows = sizes.rows(seconds)
    assert sizes.seconds(rows) <= seconds * (1 + 1e-6) or rows == 0
