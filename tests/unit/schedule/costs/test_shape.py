import itertools

from hypothesis import given, settings

from penstock.plan.operators import Operator, key
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import cut_at_shared
from penstock.schedule.costs.shape import parts_of, shape_of
from tests.examples import examples
from tests.unit.plan.graphs import pools


@given(pools())
@settings(deadline=None, max_examples=examples(40))
def test_a_shape_says_of_names_what_the_graph_says_of_nodes(pool: list[Operator]) -> None:
    graph = Graph({"a": pool[-1], "b": pool[-2]})
    shape = shape_of(graph)
    assert list(shape.inputs) == list(graph.nodes())
    assert shape.streams == {key(scan) for scan in graph.scans()}
    assert shape.read == {name for name, readers in graph.readers().items() if readers}
    assert {name: sorted(each) for name, each in shape.queries_of().items()} == graph.queries_of()


@given(pools())
@settings(deadline=None, max_examples=examples(40))
def test_paths_go_from_a_stream_to_a_root(pool: list[Operator]) -> None:
    graph = Graph({"a": pool[-1]})
    shape = shape_of(graph)
    for path in shape.paths:
        assert shape.streams.intersection(shape.inputs[path[0]])
        assert path[-1] == shape.roots["a"]
        assert all(a in shape.inputs[b] for a, b in itertools.pairwise(path))


@given(pools())
@settings(deadline=None, max_examples=examples(40))
def test_parts_are_the_units(pool: list[Operator]) -> None:
    units = cut_at_shared(Graph({"a": pool[-1]}))
    for unit, part in zip(units, parts_of(units), strict=True):
        assert (part.key, part.leaves) == (unit.key, unit.inputs)
        assert part.members[-1:] == ((unit.key,) if part.members else ())
