from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadOptionError
from penstock.qos.load.load import Outlook, load_of
from penstock.qos.load.network import Network
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.controller import (
    NOT_SHEDDING,
    Rule,
    Shedding,
    adjusted,
)
from tests.unit.qos.networks import networks, two_paths

LIMITS = {"a": Limit(0.9), "b": Limit(0.9, 5.0)}


def at_rate(network: Network, factor: float) -> Network:
    return replace(network, rates={name: rate * factor for name, rate in network.rates.items()})


def seen(network: Network, wait: float = 0.0) -> dict[str, Outlook]:
    return {name: Outlook(load, load, wait) for name, load in load_of(network).items()}


def follow(factors: list[float], network: Network, limits: dict[str, Limit]) -> list[Shedding]:
    """Return what is shed second by second, at some times the network's rates."""
    found, standing = [], NOT_SHEDDING
    for second, factor in enumerate(factors):
        now = at_rate(network, factor)
        standing = adjusted(standing, now, seen(now), limits, float(second))
        found.append(standing)
    return found


def test_below_capacity_nothing_is_shed() -> None:
    assert not any(each.is_active for each in follow([0.5, 0.9, 0.99, 0.2], two_paths(), LIMITS))


def test_past_capacity_the_load_comes_down_to_the_goal_at_once() -> None:
    (found,) = follow([2.0], two_paths(), LIMITS)
    assert abs(load_of(at_rate(two_paths(), 2.0), found.placement.keeps)[""] - Rule().goal) < 1e-9


@given(st.lists(st.floats(0.1, 8.0), max_size=20), networks(), st.floats(0.0, 0.95))
def test_gates_are_all_gone_when_the_load_is(
    factors: list[float], network: Network, most: float
) -> None:
    limits = {query: Limit(most) for query in network.roots}
    found = follow([*factors, *([0.001] * 5)], network, limits)
    assert not found[-1].is_active


@given(st.lists(st.floats(0.1, 8.0), max_size=20), networks(), st.floats(0.0, 0.95))
def test_the_same_loads_have_the_same_gates(
    factors: list[float], network: Network, most: float
) -> None:
    limits = {query: Limit(most) for query in network.roots}
    assert follow(factors, network, limits) == follow(factors, network, limits)


def test_a_load_that_breathes_changes_no_gates() -> None:
    found = follow([2.0, 1.99, 2.01, 1.98, 2.02, 2.0, 1.99, 2.0], two_paths(), LIMITS)
    assert len({tuple(each.placement.keeps.items()) for each in found}) == 1


def test_less_is_shed_only_after_a_while() -> None:
    found = follow([2.0, 0.5, 2.0, 0.5, 0.5, 0.5, 0.5, 0.5], two_paths(), LIMITS)
    assert [each.is_active for each in found] == [True] * 6 + [False] * 2


def test_what_waits_already_has_to_go_too() -> None:
    network = at_rate(two_paths(), 0.7)
    rule = Rule.of(shortest=2.0)
    assert not adjusted(NOT_SHEDDING, network, seen(network), LIMITS, 0.0, rule).is_active
    waits = seen(network, wait=0.7 + rule.usual_seconds)
    assert adjusted(NOT_SHEDDING, network, waits, LIMITS, 0.0, rule).is_active


def test_a_goal_above_the_start_is_refused() -> None:
    with pytest.raises(BadOptionError):
        Rule(start=0.8, goal=0.9)
