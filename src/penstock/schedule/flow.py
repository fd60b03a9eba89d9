"""Flow: the graph with the figures of its operators, every one of them finite and no cost zero."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from penstock.plan.graph import Graph
from penstock.plan.operators import Distinct, Operator, Scan, Top, is_stateful, key
from penstock.schedule.observation import Observation

SECONDS = 1e-4  # of an operator while none is measured: only the ratio to others counts
LEAST_SECONDS = 1e-12  # what costs nothing would have an infinite capacity
TUPLE_BYTES = 100.0  # of a tuple while none is measured
MOST_PATHS = 10_000  # diamonds upon diamonds have more paths than anybody can rank

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """Cost, selectivity and size of what comes out, by node; a scan costs nothing."""

    graph: Graph
    seconds: Mapping[str, float]
    selectivity: Mapping[str, float]
    tuple_bytes: Mapping[str, float]
    stream_bytes: Mapping[str, float]  # of a tuple of the stream that a node reads
    kept_bytes: Mapping[str, float]  # of a tuple that has left the node: none where nobody reads

    def paths(self) -> list[Path]:
        """Return the operator paths: the nodes from above a scan up to a query's root (ANA-03)."""
        found = (path for root in self.graph.queries.values() for path in _paths(root))
        return list(islice((path for path in found if path), MOST_PATHS))

    def bytes_before(self, path: Path) -> list[float]:
        """Return the size of the tuples that enter each node of a path."""
        return [self.stream_bytes[path[0]], *(self.tuple_bytes[name] for name in path[:-1])]


def flow_of(graph: Graph, seen: Observation) -> Flow:
    """Return the flow; what was not measured is taken as the mean of what was."""
    nodes = graph.nodes()
    figures = {name: seen.operator(name) for name in nodes}
    measured = (f.seconds.or_else(math.nan) for f in figures.values())
    costs = [cost for cost in measured if not math.isnan(cost)]
    prior = sum(costs) / len(costs) if costs else SECONDS
    readers = graph.readers()
    sizes = {name: figures[name].tuple_bytes.believed(TUPLE_BYTES) for name in nodes}
    return Flow(
        graph,
        seconds={
            name: 0.0
            if isinstance(node, Scan)
            else max(LEAST_SECONDS, figures[name].seconds.believed(prior))
            for name, node in nodes.items()
        },
        selectivity={
            name: 1.0 if isinstance(node, Scan) else figures[name].selectivity.believed(1.0)
            for name, node in nodes.items()
        },
        tuple_bytes=sizes,
        stream_bytes={
            name: max((sizes[key(each)] for each in node.inputs), default=0.0)
            for name, node in nodes.items()
        },
        kept_bytes={name: size if readers[name] else 0.0 for name, size in sizes.items()},
    )


def may_end(graph: Graph) -> set[str]:
    """Return the nodes where a unit may end.

    Those between a stateful operator and what needs trains of whole windows may not.
    """
    nodes = graph.nodes()
    kept: set[str] = set()
    for node in nodes.values():
        waiting = list(node.inputs) if isinstance(node, Top | Distinct) else []
        while waiting:
            below = waiting.pop()
            kept.add(key(below))
            if not is_stateful(below):
                waiting += below.inputs
    return nodes.keys() - kept


def _paths(node: Operator) -> Iterator[Path]:
    if isinstance(node, Scan):
        yield ()
    for each in node.inputs:
        for path in _paths(each):
            yield (*path, key(node))
