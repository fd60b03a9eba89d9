"""Laws of all policies under any costs, and what each does by itself."""

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.place import (
    COST_MODELS,
    POLICIES,
    CostTable,
    Limits,
    Network,
    NetworkUnit,
    Processor,
    Statistics,
    UnitFigures,
    faults_of,
    moves_between,
)
from penstock.place.costs.observed import Observed
from penstock.place.policies.balance import balance
from penstock.place.policies.degradation import degradation
from penstock.place.policies.gain import Gain
from tests.examples import examples
from tests.unit.place.networks import observations, situation_of

THERE = [Processor(name) for name in "pqr"]


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("model", COST_MODELS)
@given(seen=observations(), data=st.data())
@settings(deadline=None, max_examples=examples(60))
def test_what_a_policy_proposes_is_valid_and_within_its_limits(
    name: str, model: str, seen: Observed, data: st.DataObject
) -> None:
    names = [each.name for each in seen.processors]
    limits = Limits(
        units=data.draw(st.none() | st.frozensets(st.sampled_from(list(seen.network.units)))),
        processors=data.draw(st.none() | st.frozensets(st.sampled_from(names))),
        most_state_bytes=data.draw(st.sampled_from([0.5, 100.0])),
    )
    situation = situation_of(seen, COST_MODELS[model](seen), limits)
    for placement in islice(POLICIES[name](situation), 20):
        assert faults_of(placement, seen.network, names) == ()
        moves = moves_between(seen.placement, placement)
        assert moves
        for move in moves:
            assert limits.units is None or move.unit in limits.units
            assert limits.processors is None or move.target in limits.processors
            assert seen.statistics.of(move.unit).state_bytes <= limits.most_state_bytes


def test_balance_evens_out_the_heaviest_and_the_lightest_and_leaves_those_between() -> None:
    seen = _seen({"a": "p", "b": "p", "c": "p", "d": "q"})
    costs = CostTable({"p": 0.9, "q": 0.4, "r": 0.0}, {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.4})
    (placement,) = balance(situation_of(seen, costs))
    assert placement == {"a": "r", "b": "p", "c": "p", "d": "q"}


def test_balance_leaves_what_no_move_makes_more_even() -> None:
    seen = _seen({"a": "p", "b": "q", "c": "q", "d": "q"})
    costs = CostTable({"p": 0.9, "q": 0.3, "r": 0.0}, {"a": 0.9, "b": 0.1, "c": 0.1, "d": 0.1})
    assert list(balance(situation_of(seen, costs))) == []


def test_degradation_prefers_the_unit_whose_move_takes_away_a_connection() -> None:
    """b stands between a and c: beside c it saves nothing more than it loses, d saves one."""
    seen = _seen({"a": "p", "b": "p", "c": "q", "d": "p"})
    network = Network.of(
        [
            NetworkUnit("a", ("s",)),
            NetworkUnit("b", ("a",)),
            NetworkUnit("c", ("b",)),
            NetworkUnit("d", ("c",)),
        ],
        {"s": 1.0},
    )
    seen = Observed(network, seen.placement, seen.processors, seen.statistics)
    costs = CostTable({"p": 0.8, "q": 0.0, "r": 0.0}, {"a": 0.5, "b": 0.2, "c": 0.0, "d": 0.1})
    first = next(degradation(situation_of(seen, costs)))
    assert moves_between(seen.placement, first)[0].unit == "d"
    assert first["d"] == "q"


def test_degradation_leaves_processors_that_got_no_worse() -> None:
    seen = _seen({"a": "p", "b": "p", "c": "q", "d": "q"})
    costs = CostTable({"p": 0.05, "q": 0.05, "r": 0.0}, dict.fromkeys("abcd", 0.025))
    assert list(degradation(situation_of(seen, costs))) == []


def test_gain_moves_what_an_overloaded_processor_cannot_do() -> None:
    seen = _seen(dict.fromkeys("abcd", "p"), load=0.5)
    costs = CostTable({"p": 1.0, "q": 0.0, "r": 0.0}, dict.fromkeys("abcd", 0.25))
    first = next(Gain()(situation_of(seen, costs)))
    assert sorted(first.values()).count("p") < 4


def test_gain_stays_where_the_state_costs_more_to_carry_than_a_move_saves() -> None:
    seen = _seen(dict.fromkeys("abcd", "p"), load=0.24)
    heavy = Statistics({name: UnitFigures(state_bytes=1e12) for name in "abcd"})
    seen = Observed(seen.network, seen.placement, seen.processors, heavy)
    costs = CostTable({"p": 1.0, "q": 0.0, "r": 0.0}, dict.fromkeys("abcd", 0.25))
    assert list(Gain()(situation_of(seen, costs))) == []
    assert list(Gain(carried_bytes=1e15)(situation_of(seen, costs))) != []


def _seen(placement: dict[str, str], load: float = 0.1) -> Observed:
    network = Network.of([NetworkUnit(name, ("s",), load, 1.0) for name in placement], {"s": 1.0})
    return Observed(network, placement, THERE, Statistics({}))
