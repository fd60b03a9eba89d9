import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.load.estimates import (
    TAIL,
    Corrections,
    TrainSize,
    busiest,
    corrections_of,
    estimated,
)
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
    assert (found.load, found.memory_bytes) == (0.0, 0.0)


def at_load(network: Network, load: float) -> Network:
    most = max(*load_of(network).values(), busiest(network))
    rates = {name: rate * load / most for name, rate in network.rates.items()}
    return replace(network, rates=rates)


@given(networks(), st.sampled_from([0.2, 0.5, 0.9]), st.floats(0.2, 20.0))
def test_where_it_was_measured_the_estimate_is_what_was_measured(
    drawn: Network, load: float, factor: float
) -> None:
    network = replace(at_load(drawn, load), run_seconds=0.01)
    plain = estimated(network)
    alone = {name: estimated(replace(network, roots={"q": name})) for name in network.nodes}
    entering = [
        name for name in network.nodes if network.nodes[name].inputs.keys() <= network.rates.keys()
    ]
    measured = {name: factor * alone[name].work["q"] for name in entering}
    found = estimated(network, {}, corrections_of(network, {}, measured))
    for query, root in network.roots.items():
        if root in entering:
            assert math.isclose(found.work[query], measured[root], rel_tol=1e-6)
        assert math.isclose(found.work[query], factor * plain.work[query], rel_tol=1e-6)


@given(networks(), st.floats(0.5, 10.0))
def test_corrected_estimates_grow_with_the_load_as_well(drawn: Network, factor: float) -> None:
    corrections = Corrections({next(iter(drawn.nodes)): factor}, 2.0)
    loads = (0.2, 0.5, 0.9)
    found = [estimated(at_load(drawn, load), {}, corrections) for load in loads]
    for query in drawn.roots:
        latencies = [each.latency[query] for each in found]
        assert latencies == sorted(latencies)
    assert [each.memory_bytes for each in found] == sorted(each.memory_bytes for each in found)


@given(networks(), st.floats(0.0, 0.1))
def test_runs_that_all_cost_the_same_may_say_so_one_by_one(drawn: Network, setup: float) -> None:
    network = at_load(drawn, 0.5)
    nodes = {name: replace(node, setup=setup) for name, node in network.nodes.items()}
    alike = estimated(replace(network, run_seconds=setup))
    assert estimated(replace(network, nodes=nodes, run_seconds=7.0)) == alike


def test_what_is_no_work_is_added_once_and_varies_little() -> None:
    network = Network(line("a", "s", [(0.01, 1.0)]), {"s": 10.0}, {"q": "a0"}, run_seconds=0.1)
    work = estimated(network).latency["q"]
    held = {"a0": replace(network.nodes["a0"], held=2.0)}
    waiting = replace(network, nodes=held, delivery_seconds=0.03)
    found = estimated(waiting, {"s": TrainSize(lag=0.4)})
    assert math.isclose(found.latency["q"], work + 2.43)
    assert math.isclose(found.delay("q"), work + 0.43)
    assert math.isclose(found.tail("q"), TAIL * work + 2.43)


def test_past_capacity_nothing_is_corrected() -> None:
    network = replace(two_paths(), rates={"s": 250.0})
    assert corrections_of(network, {}, {"leaf0": 1.0}) == Corrections()
    assert corrections_of(replace(network, rates={"s": 50.0}), {}, {}) == Corrections()


def test_a_network_within_some_nodes_has_what_they_read() -> None:
    found = two_paths().within({"leaf0", "a0", "b1"})
    assert list(found.nodes) == ["leaf0", "a0"]
    assert found.roots == {}
    assert two_paths().within({"leaf0", "a0", "a1"}).roots == {"a": "a1"}
