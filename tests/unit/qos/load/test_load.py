from hypothesis import given

from penstock.qos.load.load import Outlook, backlog_of, load_of, seconds_ahead
from penstock.qos.load.network import Network
from tests.unit.qos.networks import line, networks, two_paths


def test_shared_segments_are_deducted_as_in_the_paper() -> None:
    rate, path, leaf = 200.0, 0.001 + 0.5 * 0.002 + 0.1 * 0.01, 0.001
    paper = 2 * rate * path - (2 - 1) * rate * leaf
    assert abs(load_of(two_paths())[""] - paper) < 1e-12
    assert abs(paper - 1.0) < 1e-12


def test_without_sharing_load_is_the_sum_of_rates_over_capacities() -> None:
    nodes = line("a", "s", [(0.001, 0.5), (0.002, 0.2), (0.01, 1.0)])
    network = Network(nodes, {"s": 200.0}, {"a": "a2"})
    assert abs(load_of(network)[""] - 200 / (1000 / 3)) < 1e-12


def test_slots_share_the_load() -> None:
    network = two_paths()
    wider = Network(network.nodes, network.rates, network.roots, {"": 4})
    assert abs(load_of(wider)[""] - 0.25) < 1e-12


@given(networks())
def test_load_is_what_all_the_tuples_of_a_second_cost_until_their_results_are_out(
    network: Network,
) -> None:
    ahead = seconds_ahead(network)
    for processor, load in load_of(network).items():
        costs = sum(
            network.rates[below] * seconds.get(processor, 0.0)
            for (below, _), seconds in ahead.items()
            if below in network.rates
        )
        assert abs(load * network.slots[processor] - costs) < 1e-9


@given(networks())
def test_a_second_of_arrivals_waiting_at_the_streams_is_as_many_seconds_as_the_load(
    network: Network,
) -> None:
    queued = {edge: network.rates[edge[0]] for edge in network.arriving if edge[0] in network.rates}
    backlog = backlog_of(network, queued)
    assert all(abs(backlog[name] - each) < 1e-9 for name, each in load_of(network).items())


def test_latency_breaks_when_what_waits_has_grown_to_it() -> None:
    assert Outlook(1.5, 1.2, 0.5).breaks_in(4.0) == 3.0
    assert Outlook(0.9, 1.0, 0.5).breaks_in(2.0) == float("inf")
    assert Outlook(0.1, 0.1, 3.0).breaks_in(2.0) == 0.0
