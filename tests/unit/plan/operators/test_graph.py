from hypothesis import given, settings

from penstock.plan.operators import Scan, key, walk
from penstock.plan.operators.graph import Graph
from tests.unit.plan.graphs import graphs
from tests.unit.plan.twin import World

LAW = settings(deadline=None)


@given(graphs())
@LAW
def test_the_nodes_are_those_of_all_queries_with_inputs_first(graph: Graph) -> None:
    nodes = graph.nodes()
    assert set(nodes) == {key(node) for root in graph.queries.values() for node in walk(root)}
    seen: set[str] = set()
    for name, node in nodes.items():
        assert all(key(each) in seen for each in node.inputs)
        seen.add(name)


@given(graphs())
@LAW
def test_readers_and_inputs_are_each_others_inverse(graph: Graph) -> None:
    nodes, readers = graph.nodes(), graph.readers()
    assert set(readers) == set(nodes)
    pairs = {(key(each), name) for name, node in nodes.items() for each in node.inputs}
    assert {(name, reader) for name, read_by in readers.items() for reader in read_by} == pairs


@given(graphs())
@LAW
def test_a_node_belongs_to_the_queries_that_reach_it(graph: Graph) -> None:
    found = graph.queries_of()
    for name, root in graph.queries.items():
        reached = {key(node) for node in walk(root)}
        assert {node for node, queries in found.items() if name in queries} == reached


@given(graphs())
@LAW
def test_a_query_like_another_adds_no_node(graph: Graph) -> None:
    root = next(iter(graph.queries.values()))
    assert set(graph.with_query("new", root).nodes()) == set(graph.nodes())


def test_equal_parts_of_different_queries_are_one_node() -> None:
    world = World()
    world.name("a", "SELECT mph FROM traffic WHERE mph > 3 AND kind = 'car'")
    world.name("b", "SELECT t.kind FROM Traffic t WHERE KIND = 'car' AND t.MPH > 3")
    kinds = [node.text().split()[0] for node in world.graph.nodes().values()]
    assert sorted(kinds) == ["filter", "project", "project", "scan"]


def test_the_scans_are_the_streams_that_are_read() -> None:
    world = World()
    world.name("a", "SELECT ts FROM traffic UNION ALL SELECT at FROM south")
    world.name("b", "SELECT mph FROM traffic")
    scans = list(world.graph.scans())
    assert all(isinstance(each, Scan) for each in scans)
    assert sorted(each.stream for each in scans) == ["south", "traffic"]
