"""How often the truth is within the error that an answer admits, over many samples."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.contracts.answers import SampleSums, least_keep, sampled
from penstock.qos.shedding.gates import DropGate, seed_of

TRIALS = 2000
LEAST_COVERAGE = 0.935  # 95 % less three standard errors of so many trials
SHAPES = ["constant", "uniform", "normal", "exponential", "lognormal", "both signs"]
Draw = np.random.Generator


def values(shape: str, drawn: Draw, size: tuple[int, int]) -> np.ndarray:
    match shape:
        case "constant":
            return np.ones(size)
        case "uniform":
            return drawn.uniform(0, 10, size)
        case "normal":
            return drawn.normal(50, 10, size)
        case "exponential":
            return drawn.exponential(1.0, size)
        case "lognormal":
            return drawn.lognormal(0.0, 1.0, size)
        case _:
            return drawn.normal(0.5, 1.0, size)


def kept(truth: np.ndarray, mask: np.ndarray, keep: float) -> SampleSums:
    shown = np.where(mask, truth, 0.0)
    return sampled(mask.sum(1).astype(float), shown.sum(1), (shown**2).sum(1), keep)


def covered(estimate: np.ndarray, error: np.ndarray, truth: np.ndarray) -> float:
    told = ~np.isnan(error)
    off = np.abs(estimate - truth) / np.abs(truth)
    return float((off[told] <= error[told] + 1e-12).mean())


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("rows", [50, 300])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_truth_is_within_the_error_at_its_stated_rate(
    shape: str, rows: int, keep: float
) -> None:
    drawn = np.random.default_rng(7)
    truth = values(shape, drawn, (TRIALS, rows))
    found = kept(truth, drawn.random(truth.shape) < keep, keep)
    counts = np.full(TRIALS, float(rows))
    assert covered(found.count, found.count_error(), counts) >= LEAST_COVERAGE
    assert covered(found.total, found.sum_error(), truth.sum(1)) >= LEAST_COVERAGE
    assert covered(found.average, found.average_error(), truth.mean(1)) >= LEAST_COVERAGE


def test_gates_in_a_row_and_panes_of_other_gates_are_covered_too() -> None:
    drawn = np.random.default_rng(3)
    truth = drawn.exponential(1.0, (TRIALS, 200))
    numbers = np.arange(truth.size)
    low, high = DropGate(0.6, seed_of(4, "low")), DropGate(0.5, seed_of(4, "high"))
    both = (low.passes(numbers) & high.passes(numbers)).reshape(truth.shape)
    found = kept(truth[:, :120], both[:, :120], 0.6 * 0.5)
    found += kept(truth[:, 120:], low.passes(numbers).reshape(truth.shape)[:, 120:], 0.6)
    assert covered(found.total, found.sum_error(), truth.sum(1)) >= LEAST_COVERAGE
    assert covered(found.count, found.count_error(), np.full(TRIALS, 200.0)) >= LEAST_COVERAGE


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9])
def test_a_bound_is_not_wider_than_it_has_to_be(keep: float) -> None:
    drawn = np.random.default_rng(5)
    truth = drawn.normal(50, 10, (TRIALS, 400))
    found = kept(truth, drawn.random(truth.shape) < keep, keep)
    off = np.abs(found.total - truth.sum(1)) / truth.sum(1)
    assert np.median(found.sum_error()) < 1.6 * np.quantile(off, 0.95)


def test_what_nothing_was_dropped_of_has_no_error_and_what_is_not_there_has_none_to_tell() -> None:
    whole = sampled(np.array([3.0, 0.0]), np.array([6.0, 0.0]), np.array([14.0, 0.0]), 1.0)
    assert whole.count_error()[0] == whole.sum_error()[0] == whole.average_error()[0] == 0
    assert np.isnan(whole.sum_error()[1])
    assert whole.total[0] == 6


def test_one_tuple_of_many_tells_no_error_of_its_sum() -> None:
    one = sampled(np.array([1.0]), np.array([5.0]), np.array([25.0]), 0.5)
    assert np.isnan(one.sum_error()[0])
    assert one.count_error()[0] > 1


@given(st.floats(0.01, 0.9), st.floats(20, 1e6), st.floats(0.0, 4.0))
def test_at_the_least_keep_rate_the_expected_bound_is_the_one_that_was_asked_for(
    max_error: float, rows: float, spread: float
) -> None:
    keep = least_keep(max_error, rows, spread)
    mean, squares = 1.0, 1.0 + spread
    seen = sampled(
        np.array([rows * keep]),
        np.array([rows * keep * mean]),
        np.array([rows * keep * squares]),
        keep,
    )
    assert 0 < keep <= 1
    if rows * keep >= 200:  # where Student's t and the normal are the same
        assert seen.sum_error()[0] <= max_error * 1.06


def test_an_exact_answer_keeps_everything() -> None:
    assert least_keep(0.0, 1e6) == 1.0
    assert least_keep(0.05, 0.0) == 1.0
    assert least_keep(0.05, 10_000) < 0.2
    assert least_keep(0.05, 10_000, 0.1, mean=True) < least_keep(0.05, 10_000, 0.1)


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0.1, 1.0)), min_size=1, max_size=6))
def test_partials_add_up_in_any_order(panes: list[tuple[int, float]]) -> None:
    parts = [
        sampled(np.array([float(n)]), np.array([2.0 * n]), np.array([4.0 * n]), keep)
        for n, keep in panes
    ]
    forth, back = parts[0], parts[-1]
    for each in parts[1:]:
        forth += each
    for each in reversed(parts[:-1]):
        back += each
    assert math.isclose(forth.total[0], back.total[0], abs_tol=1e-9)
    assert math.isclose(forth.total_variance[0], back.total_variance[0], abs_tol=1e-9)
