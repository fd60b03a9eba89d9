"""Shape: a graph and its units by the names of nodes alone.

An operator's name is a hash of all below it, so it is asked for once, when the graph changes;
figures change far more often.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from penstock.plan.graph import Graph
from penstock.plan.operators import Scan, key
from penstock.plan.units import Unit

MOST_PATHS = 10_000  # diamonds upon diamonds have more paths than anybody can rank

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """What each node reads, inputs first; which are streams, which are queries' roots."""

    inputs: Mapping[str, Path]
    streams: frozenset[str]
    roots: Mapping[str, str]  # by query
    read: frozenset[str]  # nodes that others read
    paths: tuple[Path, ...]  # from above a stream up to a query's root (ANA-03)

    def queries_of(self) -> dict[str, set[str]]:
        """Return the queries whose answer needs each node."""
        found: dict[str, set[str]] = {name: set() for name in self.inputs}
        for query, root in self.roots.items():
            found[root].add(query)
        for name in reversed(list(self.inputs)):
            for below in self.inputs[name]:
                found[below] |= found[name]
        return found


@dataclass(frozen=True, slots=True)
class Part:
    """A unit: its root's name, the buffers that it reads, and its operators, inputs first."""

    key: str
    leaves: Path
    members: Path


def shape_of(graph: Graph) -> Shape:
    """Return the shape of a graph."""
    nodes = graph.nodes()
    inputs = {name: tuple(key(each) for each in node.inputs) for name, node in nodes.items()}
    roots = {query: key(root) for query, root in graph.queries.items()}
    found = (path for root in roots.values() for path in _paths(root, inputs))
    return Shape(
        inputs,
        frozenset(name for name, node in nodes.items() if isinstance(node, Scan)),
        roots,
        frozenset(below for each in inputs.values() for below in each),
        tuple(islice((path for path in found if path), MOST_PATHS)),
    )


def parts_of(units: Iterable[Unit]) -> tuple[Part, ...]:
    """Return units by names, in their order."""
    return tuple(
        Part(unit.key, unit.inputs, tuple(key(each) for each in unit.members())) for unit in units
    )


def _paths(name: str, inputs: Mapping[str, Path]) -> Iterator[Path]:
    if not inputs[name]:
        yield ()  # a stream
    for below in inputs[name]:
        for path in _paths(below, inputs):
            yield (*path, name)
