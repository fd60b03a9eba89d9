import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadOptionError
from penstock.schedule.costs.observation import (
    NOTHING_SEEN,
    UNMEASURED,
    Average,
    OperatorFigures,
    QueryFigures,
    deadline_of,
)

SAMPLES = st.lists(st.floats(0, 1e6), min_size=1, max_size=20)
NO_FIGURE = st.sampled_from([math.nan, math.inf, -math.inf, -1.0])


def averaged(samples: list[float], *, step: float = 1.0) -> Average:
    average = UNMEASURED
    for number, sample in enumerate(samples):
        average = average.add(sample, number * step)
    return average


@given(SAMPLES)
def test_an_average_lies_among_its_samples(samples: list[float]) -> None:
    value = averaged(samples).value
    assert min(samples) - 1e-6 <= value <= max(samples) + 1e-6


@given(SAMPLES, NO_FIGURE)
def test_what_is_no_figure_changes_nothing(samples: list[float], odd: float) -> None:
    average = averaged(samples)
    assert average.add(odd, 99.0) == average
    assert average.add(1.0, 99.0, weight=odd) == average


def test_old_samples_fade() -> None:
    assert averaged([100.0, 1.0], step=0.0).value == pytest.approx(50.5)
    assert averaged([100.0, 1.0], step=300.0).value == pytest.approx(1.0, abs=0.2)


def test_time_that_goes_back_makes_no_sample_heavier() -> None:
    assert UNMEASURED.add(1.0, 10.0).add(3.0, 0.0).value == pytest.approx(2.0)


@given(SAMPLES)
def test_confidence_grows_with_samples_and_never_reaches_certainty(samples: list[float]) -> None:
    confidences = [averaged(samples[:n], step=0.0).confidence for n in range(len(samples) + 1)]
    assert confidences == sorted(confidences)
    assert confidences[0] == 0.0
    assert confidences[-1] < 1.0 == Average.known(3.0).confidence


def test_a_figure_in_doubt_is_drawn_toward_the_prior() -> None:
    once = UNMEASURED.add(8.0, 0.0)
    assert 4.0 < once.believed(4.0) < 8.0
    assert UNMEASURED.believed(4.0) == 4.0
    assert Average.known(8.0).believed(4.0) == 8.0


@pytest.mark.parametrize("odd", [math.nan, math.inf, -1.0])
def test_declaring_no_figure_declares_nothing(odd: float) -> None:
    assert Average.known(odd).or_else(7.0) == 7.0
    assert OperatorFigures.declared(odd).seconds == UNMEASURED


def test_zero_is_a_figure() -> None:
    assert Average.known(0.0).or_else(7.0) == 0.0


def test_a_declared_figure_stays() -> None:
    assert Average.known(2.0).add(9.0, 1.0) == Average.known(2.0)


@pytest.mark.parametrize("priority", [-1, 10])
def test_priorities_go_from_0_to_9(priority: int) -> None:
    with pytest.raises(BadOptionError):
        QueryFigures(priority=priority)


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, math.nan])
def test_weights_are_above_zero_and_finite(weight: float) -> None:
    with pytest.raises(BadOptionError):
        QueryFigures(weight=weight)


def test_a_deadline_is_event_time_and_validity() -> None:
    assert deadline_of(100_000_000, timedelta(seconds=20)) == 120.0
    assert deadline_of(None, timedelta(seconds=20)) == math.inf
    assert deadline_of(100_000_000, None) == math.inf


def test_what_was_never_seen_has_the_defaults() -> None:
    assert NOTHING_SEEN.operator("a").seconds is UNMEASURED
    assert NOTHING_SEEN.unit("a").queued_rows == 0
    assert NOTHING_SEEN.query("q").priority == 5
