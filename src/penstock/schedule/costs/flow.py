"""Flow: the graph with the figures of its operators, every one of them finite and no cost zero."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.plan.operators import Distinct, HorvitzThompson, Top, is_stateful, key
from penstock.plan.operators.graph import Graph
from penstock.schedule.costs.observation import Observation
from penstock.schedule.costs.shape import GraphShape, Path

SECONDS = 1e-4  # of an operator while none is measured: only the ratio to others counts
LEAST_SECONDS = 1e-12  # what costs nothing would have an infinite capacity
TUPLE_BYTES = 100.0  # of a tuple while none is measured


@dataclass(frozen=True, slots=True)
class CostedGraph:
    """Cost, selectivity and size of what comes out, by node; a scan costs nothing."""

    shape: GraphShape
    seconds: Mapping[str, float]
    selectivity: Mapping[str, float]
    tuple_bytes: Mapping[str, float]
    stream_bytes: Mapping[str, float]  # of a tuple of the stream that a node reads
    kept_bytes: Mapping[str, float]  # of a tuple that has left the node: none where nobody reads

    def bytes_before(self, path: Path) -> list[float]:
        """Return the size of the tuples that enter each node of a path."""
        return [self.stream_bytes[path[0]], *(self.tuple_bytes[name] for name in path[:-1])]


def flow_of(shape: GraphShape, seen: Observation) -> CostedGraph:
    """Return the flow; what was not measured is taken as the mean of what was."""
    figures = {name: seen.operator(name) for name in shape.inputs}
    measured = (each.seconds.or_else(math.nan) for each in figures.values())
    costs = [cost for cost in measured if not math.isnan(cost)]
    prior = sum(costs) / len(costs) if costs else SECONDS
    sizes = {name: each.tuple_bytes.believed(TUPLE_BYTES) for name, each in figures.items()}
    return CostedGraph(
        shape,
        seconds={
            name: 0.0 if name in shape.streams else max(LEAST_SECONDS, each.seconds.believed(prior))
            for name, each in figures.items()
        },
        selectivity={
            name: 1.0 if name in shape.streams else each.selectivity.believed(1.0)
            for name, each in figures.items()
        },
        tuple_bytes=sizes,
        stream_bytes={
            name: max((sizes[below] for below in inputs), default=0.0)
            for name, inputs in shape.inputs.items()
        },
        kept_bytes={name: size if name in shape.read else 0.0 for name, size in sizes.items()},
    )


def may_end(graph: Graph) -> set[str]:
    """Return the nodes where a unit may end.

    Those between a stateful operator and what needs trains of whole windows may not.
    """
    nodes = graph.nodes()
    kept: set[str] = set()
    for node in nodes.values():
        waiting = list(node.inputs) if isinstance(node, Top | Distinct | HorvitzThompson) else []
        while waiting:
            below = waiting.pop()
            kept.add(key(below))
            if not is_stateful(below):
                waiting += below.inputs
    return nodes.keys() - kept
