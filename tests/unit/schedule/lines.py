"""Small graphs with declared figures: lines of filters over streams, and what they cost."""

from collections.abc import Sequence

from penstock.plan.operators import Filter, Operator, key
from penstock.plan.operators.graph import Graph
from penstock.schedule.costs.observation import Observation, OperatorFigures, QueryFigures
from tests.unit.plan.graphs import scan

Step = tuple[float, float]  # seconds and selectivity


def line(stream: str, length: int, *, below: Operator | None = None) -> list[Operator]:
    """Return filters over a stream, or over an operator, the lowest first."""
    found: list[Operator] = []
    node = below or scan(stream)
    for number in range(length):
        node = Filter(node, (f"`v` > {number} AND '{stream}' = ''",))
        found.append(node)
    return found


def lines(*paths: Sequence[Step], weights: Sequence[float] = ()) -> tuple[Graph, Observation]:
    """Return a query a path, each over a stream of its own, all tuples of 100 bytes."""
    graph, operators, queries = Graph(), {}, {}
    for number, steps in enumerate(paths):
        nodes = line(f"s{number}", len(steps))
        graph = graph.with_query(f"q{number}", nodes[-1])
        for node, (seconds, selectivity) in zip(nodes, steps, strict=True):
            operators[key(node)] = OperatorFigures.declared(seconds, selectivity, 100.0)
        operators[key(nodes[0].inputs[0])] = OperatorFigures.declared(0.0, 1.0, 100.0)
        weight = weights[number] if weights else 1.0
        queries[f"q{number}"] = QueryFigures(weight=weight)
    return graph, Observation(operators, {}, queries)


def root_of(graph: Graph, query: str) -> str:
    return key(graph.queries[query])
