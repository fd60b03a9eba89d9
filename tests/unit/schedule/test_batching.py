import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadOptionError
from penstock.schedule.batching import (
    Batching,
    Everything,
    FixedInterval,
    FixedLength,
    Intelligent,
    Pace,
    WaitingTrain,
)

RULES = [FixedLength(1), FixedLength(50), FixedInterval(0.5), Intelligent(), Everything()]
TIMES = st.lists(st.floats(0, 20), max_size=20).map(sorted)


def trains(times: list[float], rows: float = 10) -> list[WaitingTrain]:
    return [WaitingTrain(rows, at, at) for at in times]


@pytest.mark.parametrize("rule", RULES, ids=str)
@given(times=TIMES)
def test_a_run_takes_at_least_one_train_and_no_more_than_wait(
    rule: Batching, times: list[float]
) -> None:
    taken = rule.take(trains(times), Pace(1.0, 0.1))
    assert min(1, len(times)) <= taken <= len(times)


def test_a_length_is_reached_by_the_fewest_trains() -> None:
    assert FixedLength(25).take(trains([0, 1, 2, 3]), Pace()) == 3
    assert FixedLength(1).take(trains([0, 1, 2, 3]), Pace()) == 1


def test_an_interval_ends_with_the_clocks() -> None:
    assert FixedInterval(1).take(trains([0.7, 0.9, 1.1, 1.2]), Pace()) == 2


def test_a_batch_is_no_longer_than_jobs_can_wait() -> None:
    times = [0.1 * n for n in range(20)]
    assert Intelligent(0.9, 4).take(trains(times), Pace(laxity=1.0, gap=0.1)) == 10


def test_a_batch_ends_with_its_burst() -> None:
    times = [0.0, 0.1, 0.2, 0.9, 1.0]
    assert Intelligent(0.9, 4).take(trains(times), Pace(laxity=100.0, gap=0.1)) == 3


def test_without_deadlines_and_rates_everything_is_one_batch() -> None:
    assert Intelligent().take(trains([0, 5, 50]), Pace()) == 3


def test_jobs_that_are_late_already_go_one_by_one() -> None:
    assert Intelligent().take(trains([0, 1]), Pace(laxity=-3.0, gap=1.0)) == 1


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_parameters_out_of_range_are_refused(value: float) -> None:
    for make in (FixedLength, FixedInterval, Intelligent, lambda v: Intelligent(beta=v)):
        with pytest.raises(BadOptionError):
            make(value)
