from datetime import timedelta

import pytest

from penstock.errors import BadOptionError
from penstock.model.goals import Goals


@pytest.mark.parametrize(
    "goals",
    [
        {"max_latency": timedelta(0)},
        {"max_latency": timedelta(seconds=-1)},
        {"max_error": -0.1},
        {"max_error": 1.0},
        {"weight": 0},
        {"weight": -1.0},
        {"max_error": float("nan")},
        {"weight": float("nan")},
        {"weight": float("inf")},
    ],
)
def test_a_contract_that_nothing_can_keep_is_refused(goals: dict[str, object]) -> None:
    with pytest.raises(BadOptionError):
        Goals(**goals)  # type: ignore[arg-type]


def test_a_contract_may_ask_for_nothing_or_for_the_most() -> None:
    assert Goals() == Goals(None, None, 1.0)
    Goals(timedelta(microseconds=1), 0.0, 1e-9)
