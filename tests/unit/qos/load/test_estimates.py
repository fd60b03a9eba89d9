import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.load.estimates import TrainSize, busiest, estimated
from penstock.qos.load.load import load_of
from penstock.qos.load.network import Network
from tests.unit.qos.networks import line, networks, two_paths


def test_while_nothing_else_is_to_do_latency_is_the_run_s_own_time() -> None:
    network = Network(line("a", "s", [(0.01, 1.0)]), {"s": 1e-6}, {"q": "a0"}, run_seconds=0.2)
    found = estimated(network, {"s": TrainSize(rows=10, seconds=0.4)})
    assert math.isclose(found.latency["q"], 0.2 + 0.2 + 0.1, rel_tol=1e-4)


def test_past_capacity_latency_has_no_end() -> None:
    network = replace(two_paths(), rates={"s": 250.0})
    assert estimated(network).latency == {"a": math.inf, "b": math.inf}
    wider = replace(network, slots={"": 2})
    assert estimated(wider).latency["a"] < math.inf
    lone = Network(line("a", "s", [(0.01, 1.0)]), {"s": 150.0}, {"q": "a0"}, {"": 4})
    assert busiest(lone) == 1.5
    assert estimated(lone).latency["q"] == math.inf  # it runs in one slot


@given(networks(), st.sampled_from([0.0, 0.01]))
def test_more_tuples_wait_longer(network: Network, setup: float) -> None:
    most = max(*load_of(network).values(), busiest(network))
    calm = replace(
        network,
        rates={name: rate * 0.3 / most for name, rate in network.rates.items()},
        run_seconds=setup,
    )
    busy = replace(calm, rates={name: rate * 3 for name, rate in calm.rates.items()})
    one, other = estimated(calm), estimated(busy)
    assert all(0 < one.latency[query] <= other.latency[query] for query in network.roots)
    assert one.memory_bytes <= other.memory_bytes


def test_nothing_that_comes_makes_no_round() -> None:
    network = replace(two_paths(), rates={"s": 0.0}, run_seconds=0.1)
    found = estimated(network)
    assert (found.load, found.memory_bytes, found.round_seconds) == (0.0, 0.0, 0.0)
