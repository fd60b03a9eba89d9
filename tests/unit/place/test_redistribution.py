from collections.abc import Iterator

import pytest

from penstock.errors import BadOptionError
from penstock.place import (
    COST_MODELS,
    POLICIES,
    Limits,
    Network,
    NetworkUnit,
    Placement,
    Processor,
    Redistribution,
    Situation,
    Statistics,
    UnitFigures,
)
from penstock.place.costs.observed import Observed

BOTH = [Processor("p"), Processor("q")]
NETWORK = Network.of([NetworkUnit(name, ("s",)) for name in "ab"], {"s": 1.0})


def seen(placement: Placement | None = None, busy: float = 0.4) -> Observed:
    figures = {name: UnitFigures(busy=busy, rows_out=busy) for name in "ab"}
    return Observed(NETWORK, placement or {"a": "p", "b": "p"}, BOTH, Statistics(figures))


def balancing(**limits: float) -> Redistribution:
    return Redistribution(COST_MODELS["busy_time"], POLICIES["balance"], Limits(**limits))


def test_units_move_where_costs_are_far_enough_apart() -> None:
    _, decision = balancing(difference=0.5).step(seen(), "pq", now=0.0)
    assert decision is not None
    assert len(decision.moves) == 1
    _, none = balancing(difference=0.8).step(seen(), "pq", now=0.0)
    assert none is None


def test_there_is_at_most_one_decision_in_its_time() -> None:
    state, first = balancing().step(seen(), "pq", now=0.0)
    assert first is not None
    state, early = state.step(seen(), "pq", now=59.0)
    assert early is None
    _, later = state.step(seen(), "pq", now=60.0)
    assert later is not None


def test_a_placement_on_a_processor_that_does_not_answer_is_refused() -> None:
    _, decision = balancing().step(seen(), "p", now=0.0)
    assert decision is None


def test_a_policy_that_is_never_valid_is_asked_a_bounded_number_of_times() -> None:
    asked = 0

    def never(_: Situation) -> Iterator[Placement]:
        nonlocal asked
        while True:
            asked += 1
            yield {"a": "nowhere"}

    stubborn = Redistribution(COST_MODELS["busy_time"], never, Limits(attempts=5))
    _, decision = stubborn.step(seen(), "pq", now=0.0)
    assert decision is None
    assert asked == 5


def test_the_best_output_is_forgotten_when_units_change() -> None:
    state, decision = balancing().step(seen(), "pq", now=0.0)
    assert decision is not None
    assert state.best_output == {}
    state, _ = state.step(seen(decision.placement, busy=0.1), "pq", now=1.0)
    assert state.best_output == {"p": 0.1, "q": 0.1}


@pytest.mark.parametrize(
    "limits",
    [{"difference": 1.5}, {"seconds_between": -1}, {"attempts": 0}, {"most_state_bytes": -1}],
)
def test_limits_that_mean_nothing_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(BadOptionError):
        Limits(**limits)
