from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.qos.contracts.suspension import (
    ENDURED_SECONDS,
    GOAL,
    NOBODY,
    PATIENCE_SECONDS,
    Suspended,
    least_load,
    suspended,
    suspended_now,
)
from penstock.qos.load.network import Network
from penstock.qos.shedding.allocation import Limit
from tests.examples import examples
from tests.unit.qos.networks import line, networks


def apart(*loads: float) -> Network:
    """Return queries q0, q1 … that share nothing, with some loads."""
    nodes = {}
    for number, load in enumerate(loads):
        nodes |= line(f"n{number}", f"s{number}", [(load, 1.0)])
    rates = {f"s{n}": 1.0 for n in range(len(loads))}
    return Network(nodes, rates, {f"q{n}": f"n{n}0" for n in range(len(loads))})


@given(networks(), st.data())
@settings(max_examples=examples(60))
def test_no_victim_could_be_spared_by_itself(network: Network, data: st.DataObject) -> None:
    limits = {
        query: Limit(data.draw(st.sampled_from([0.0, 0.5])), data.draw(st.sampled_from([1.0, 3.0])))
        for query in network.roots
    }
    chosen = suspended_now(network, limits, GOAL)
    assert least_load(network.without(chosen), limits) <= GOAL + 1e-9
    for query in chosen:
        assert least_load(network.without(chosen - {query}), limits) > GOAL


def test_those_go_that_weigh_least_for_what_they_need() -> None:
    network = apart(0.5, 0.5, 0.5)
    limits = {"q0": Limit(0.0, 5.0), "q1": Limit(0.0, 1.0), "q2": Limit(0.0, 3.0)}
    assert suspended_now(network, limits, GOAL) == {"q1", "q2"}


def test_nobody_is_suspended_while_shedding_is_enough() -> None:
    network = apart(0.9, 0.9)
    assert suspended(NOBODY, network, dict.fromkeys(network.roots, Limit(0.5)), 0.0) == NOBODY


def test_a_victim_says_since_when_and_why_and_comes_back_after_a_while() -> None:
    network = apart(0.6, 0.6)
    limits = {"q0": Limit(0.0, 2.0), "q1": Limit(0.0, 1.0)}
    endured = suspended(NOBODY, network, limits, 5.0 - ENDURED_SECONDS)
    assert not endured.queries
    found = suspended(endured, network, limits, 5.0)
    assert found.queries["q1"].since == 5.0
    assert "1.20" in found.queries["q1"].text()
    calm = replace(network, rates=dict.fromkeys(network.rates, 0.5))
    waits = suspended(found, calm, limits, 10.0)
    assert waits.queries.keys() == {"q1"}
    assert suspended(waits, network, limits, 12.0).room_since is None
    assert suspended(waits, calm, limits, 10.0 + PATIENCE_SECONDS) == Suspended()


def test_who_would_soon_have_to_go_again_does_not_come_back() -> None:
    network = apart(0.6, 0.6)
    limits = {"q0": Limit(0.0, 2.0), "q1": Limit(0.0, 1.0)}
    found = suspended(NOBODY, network, limits, -ENDURED_SECONDS)
    found = suspended(found, network, limits, 0.0)
    nearly = replace(network, rates=dict.fromkeys(network.rates, 0.78))
    for second in range(40):
        found = suspended(found, nearly, limits, float(second))
    assert found.queries.keys() == {"q1"}
