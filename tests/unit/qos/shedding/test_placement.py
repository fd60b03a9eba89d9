from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.qos.load.load import load_of
from penstock.qos.load.network import Network
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.gates import LEAST_KEEP
from penstock.qos.shedding.placement import place, place_weight
from tests.unit.qos.networks import line, networks, two_paths

LIMITS = st.builds(
    Limit, st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.sampled_from([1.0, 2.0, 10.0])
)


@given(networks(), st.data())
def test_no_query_loses_more_than_it_may_and_a_trickle_stays(
    network: Network, data: st.DataObject
) -> None:
    limits = {query: data.draw(LIMITS) for query in network.roots}
    release = data.draw(st.sampled_from([{"": 0.3}, {"": 5.0, "p": 0.2}, {"p": 100.0}]))
    found = place(network, limits, release)
    for query, limit in limits.items():
        assert found.shed[query] <= min(limit.most, 1 - LEAST_KEEP) + 1e-9
    for (_, node), keep in found.keeps.items():
        assert LEAST_KEEP - 1e-9 <= keep < 1
        assert network.nodes[node].sheds


@given(networks(), st.data())
def test_gates_release_what_they_say(network: Network, data: st.DataObject) -> None:
    limits = {query: data.draw(LIMITS) for query in network.roots}
    release = data.draw(st.sampled_from([{"": 0.3}, {"": 1.0, "p": 0.2}, {"p": 2.0}]))
    found = place(network, limits, release)
    before, after = load_of(network), load_of(network, found.keeps)
    for processor, wanted in release.items():
        assert before[processor] - after[processor] >= wanted - found.short[processor] - 1e-9


def test_equal_queries_drop_before_what_they_share() -> None:
    found = place(two_paths(), {"a": Limit(0.5), "b": Limit(0.5)}, {"": 0.3})
    assert found.keeps.keys() == {("s", "leaf0")}
    assert abs(found.keeps["s", "leaf0"] - 0.7) < 1e-9


def test_an_exact_query_keeps_what_it_shares_and_the_other_drops_behind_it() -> None:
    found = place(two_paths(), {"a": Limit(0.5), "b": Limit(0.0)}, {"": 0.1})
    assert found.keeps.keys() == {("leaf0", "a0")}
    assert found.shed["b"] == 0


def test_one_who_may_give_up_more_has_a_second_gate() -> None:
    found = place(two_paths(), {"a": Limit(0.2), "b": Limit(0.8)}, {"": 9.0})
    assert {edge: round(keep, 9) for edge, keep in found.keeps.items()} == {
        ("s", "leaf0"): 0.8,
        ("leaf0", "b0"): 0.25,
    }
    assert found.short[""] > 0


def test_a_join_s_sides_divide_what_it_may_lose() -> None:
    nodes = line("a", "s", [(0.1, 1.0)]) | line("b", "t", [(0.1, 1.0)])
    joined = replace(nodes["a0"], inputs={"a0": nodes["a0"].inputs["s"]})
    joined = replace(joined, inputs={**joined.inputs, "b0": nodes["b0"].inputs["t"]})
    network = Network({**nodes, "j": joined}, {"s": 5.0, "t": 5.0}, {"q": "j"})
    found = place(network, {"q": Limit(0.19)}, {"": 9.0})
    assert [round(keep, 9) for keep in found.keeps.values()] == [0.9, 0.9]
    assert abs(found.shed["q"] - 0.19) < 1e-9


def test_who_reads_answers_gives_up_what_others_that_read_them_do() -> None:
    network = two_paths()
    nodes = {name: replace(node, sheds=name == "leaf0") for name, node in network.nodes.items()}
    network = replace(network, nodes=nodes)
    found = place(network, {"a": Limit(0.3), "b": Limit(0.8)}, {"": 9.0})
    assert {edge: round(keep, 9) for edge, keep in found.keeps.items()} == {("s", "leaf0"): 0.7}


def gates_only(*gates: str) -> Network:
    """Return s, g1, b, g2, d in a row and a, which reads g1 too; gates stand where they are."""
    nodes = line("g1", "s", [(1e-6, 1.0)]) | line("b", "g10", [(0.01, 0.5)])
    nodes |= line("g2", "b0", [(1e-6, 1.0)]) | line("d", "g20", [(0.02, 1.0)])
    nodes |= line("a", "g10", [(0.01, 1.0)])
    nodes = {name: replace(node, sheds=name in gates) for name, node in nodes.items()}
    return Network(nodes, {"s": 100.0}, {"b": "b0", "d": "d0", "a": "a0"})


def test_where_gates_may_stand_in_a_row_the_second_takes_what_only_its_queries_lose() -> None:
    limits = {"b": Limit(0.1), "a": Limit(0.2), "d": Limit(0.4)}
    found = place(gates_only("g10", "g20"), limits, {"": 9.0})
    assert {edge: round(keep, 9) for edge, keep in found.keeps.items()} == {
        ("s", "g10"): 0.9,  # a has no gate of its own, and loses what b does
        ("b0", "g20"): round(0.6 / 0.9, 9),
    }


def test_behind_an_exact_query_only_what_is_its_reader_s_own_is_released() -> None:
    network = gates_only("g20")
    found = place(network, {"d": Limit(0.4)}, {"": 9.0})
    assert {edge: round(keep, 9) for edge, keep in found.keeps.items()} == {("b0", "g20"): 0.6}
    left = load_of(network)[""] - load_of(network, found.keeps)[""]
    assert abs(9.0 - found.short[""] - left) < 1e-9


def test_where_one_side_of_a_join_has_no_gate_the_other_may_lose_all_that_it_may() -> None:
    nodes = line("g", "s", [(0.001, 1.0)]) | line("j", "g0", [(0.1, 1.0)])
    crossing = nodes["j0"].inputs["g0"]
    nodes["j0"] = replace(nodes["j0"], inputs={"g0": crossing, "t": crossing}, sheds=False)
    network = Network(nodes, {"s": 5.0, "t": 5.0}, {"q": "j0"})
    found = place(network, {"q": Limit(0.19)}, {"": 9.0})
    assert {edge: round(keep, 9) for edge, keep in found.keeps.items()} == {("s", "g0"): 0.81}


def test_a_dear_gate_stands_behind_a_filter_that_drops_most() -> None:
    nodes = line("a", "s", [(1e-6, 0.01), (0.1, 1.0)])
    network = Network(nodes, {"s": 100.0}, {"q": "a1"})
    limits = {"q": Limit(0.5)}
    assert place(network, limits, {"": 0.01}).keeps.keys() == {("s", "a0")}
    assert place(network, limits, {"": 0.01}, gate_seconds=1e-5).keeps.keys() == {("a0", "a1")}


def test_place_weight_is_that_of_the_paper() -> None:
    rate, drop, seconds, gate = 200.0, 20.0, 0.003, 1e-5
    alpha, epsilon = drop * seconds - rate * gate, drop / rate
    assert abs(place_weight(rate, drop / rate, seconds, gate) - alpha / epsilon) < 1e-9
