from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.qos.contracts.suspension import (
    NOBODY,
    Candidates,
    Promised,
    Suspended,
    behind_by,
    calmed,
    least_load,
    suspended,
    suspended_now,
)
from penstock.qos.load.load import Outlook
from penstock.qos.load.network import Network
from penstock.qos.load.tuning import (
    BACK_SECONDS,
    BROKEN_LATENCIES,
    MOST_BACK_SECONDS,
    MOST_BROKEN_SECONDS,
    NEXT_SECONDS,
    RELAPSE_SECONDS,
)
from penstock.qos.load.tuning import LEAST_GOAL as GOAL
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


PROMISED = Promised({"n00": 1.0})
PATIENCE = PROMISED.patience


def decided(
    before: Suspended, network: Network, limits: dict[str, Limit], now: float, behind: float = 0.1
) -> Suspended:
    return suspended(before, Candidates(network, limits, is_short=True), behind, PROMISED, now)


def test_nobody_is_suspended_while_shedding_is_enough() -> None:
    network = apart(0.9, 0.9)
    limits = dict.fromkeys(network.roots, Limit(0.5))
    candidates = Candidates(network, limits)  # gates could keep less
    found = suspended(NOBODY, candidates, 0.1, PROMISED, 0.0)
    found = suspended(found, candidates, 0.1, PROMISED, PATIENCE)
    assert not found.queries


def test_where_all_is_shed_and_a_promise_breaks_figures_that_say_there_is_room_are_wrong() -> None:
    network = apart(0.3, 0.3)
    limits = {"q0": Limit(0.5, 2.0), "q1": Limit(0.5, 1.0)}
    broken = decided(NOBODY, network, limits, 0.0)
    assert decided(broken, network, limits, PATIENCE).queries.keys() == {"q1"}


def test_a_victim_says_since_when_and_why_and_comes_back_after_a_while() -> None:
    network = apart(0.6, 0.6)
    limits = {"q0": Limit(0.0, 2.0), "q1": Limit(0.0, 1.0)}
    endured = decided(NOBODY, network, limits, 5.0 - PATIENCE)
    assert not endured.queries
    found = decided(endured, network, limits, 5.0)
    assert found.queries["q1"].since == 5.0
    assert "1.20" in found.queries["q1"].text()
    calm = replace(network, rates=dict.fromkeys(network.rates, 0.5))
    waits = decided(found, calm, limits, 10.0, behind=0.0)
    assert waits.queries.keys() == {"q1"}
    assert decided(waits, network, limits, 12.0, behind=0.0).room_since is None
    assert not decided(waits, calm, limits, 10.0 + BACK_SECONDS, behind=0.0).queries


def test_who_would_soon_have_to_go_again_does_not_come_back() -> None:
    network = apart(0.6, 0.6)
    limits = {"q0": Limit(0.0, 2.0), "q1": Limit(0.0, 1.0)}
    found = decided(NOBODY, network, limits, -PATIENCE)
    found = decided(found, network, limits, 0.0)
    nearly = replace(network, rates=dict.fromkeys(network.rates, 0.78))
    for second in range(40):
        found = decided(found, nearly, limits, float(second), behind=0.0)
    assert found.queries.keys() == {"q1"}


def test_two_looks_far_apart_are_enough_to_let_somebody_go_and_to_call_back() -> None:
    network = apart(0.6, 0.6)
    limits = {"q0": Limit(0.0, 2.0), "q1": Limit(0.0, 1.0)}
    found = decided(decided(NOBODY, network, limits, 0.0), network, limits, 100.0)
    assert found.queries.keys() == {"q1"}
    calm = replace(network, rates=dict.fromkeys(network.rates, 0.5))
    found = decided(decided(found, calm, limits, 200.0, behind=0.0), calm, limits, 300.0, 0.0)
    assert not found.queries


def test_one_who_has_gone_gets_a_moment_to_help_before_the_next_goes() -> None:
    network = apart(0.4, 0.4, 0.4)
    limits = {"q0": Limit(0.0, 3.0), "q1": Limit(0.0, 1.0), "q2": Limit(0.0, 2.0)}
    found = decided(decided(NOBODY, network, limits, -PATIENCE), network, limits, 0.0)
    assert found.queries.keys() == {"q1"}
    assert decided(found, network, limits, 0.9 * NEXT_SECONDS).queries.keys() == {"q1"}
    found = decided(found, network, limits, NEXT_SECONDS)
    assert found.queries.keys() == {"q1", "q2"}


def test_who_has_to_go_again_soon_waits_twice_as_long_but_not_for_ever() -> None:
    network = apart(0.6, 0.6)
    limits = {"q0": Limit(0.0, 2.0), "q1": Limit(0.0, 1.0)}
    calm = replace(network, rates=dict.fromkeys(network.rates, 0.5))
    found, now, waited = NOBODY, 0.0, []
    for _ in range(5):
        found = decided(decided(found, network, limits, now), network, limits, now + PATIENCE)
        assert found.queries
        now += PATIENCE
        began = now
        while found.queries:
            now += 1.0
            found = decided(found, calm, limits, now, behind=0.0)
        waited.append(now - began - 1)  # the first look sees that there is room
    assert waited == [10.0, 20.0, 40.0, MOST_BACK_SECONDS, MOST_BACK_SECONDS]
    found = calmed(found, now + RELAPSE_SECONDS)
    assert found == NOBODY


def test_patience_is_that_of_the_promise_and_bounded() -> None:
    assert Promised({"n": 2.0, "m": 5.0}).patience == BROKEN_LATENCIES * 2.0
    assert Promised({"n": 3600.0}).patience == MOST_BROKEN_SECONDS


def test_nothing_is_behind_while_it_is_not_the_load_or_nothing_is_known() -> None:
    network, late = apart(0.9), {"n00": 4.0}
    outlook = Outlook(0.9, 0.9, 0.1)
    assert behind_by(network, outlook, late, PROMISED) == 4.0
    assert behind_by(network, Outlook(0.9, 0.9, 0.5), {}, PROMISED) == 0.5
    assert behind_by(network, outlook, {"n00": 0.9, "other": 9.0}, PROMISED) == 0.0
    assert behind_by(apart(0.4), outlook, late, PROMISED) == 0.0
    assert behind_by(network, outlook, late, replace(PROMISED, is_known=False)) == 0.0
