"""Shape: a graph and its units by the names of nodes alone.

An operator's name is a hash of all below it, so it is asked for once, when the graph changes;
figures change far more often.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from penstock.plan.operators import AnyBundle, Operator, Scan, key
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit

MOST_PATHS = 10_000  # diamonds upon diamonds have more paths than anybody can rank

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GraphShape:
    """What each node reads, inputs first; which are streams, which are queries' roots.

    A bundle stands for the roots of its members.
    """

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
class UnitShape:
    """A unit: its root's name, the buffers that it reads, and its operators, inputs first."""

    key: str
    leaves: Path
    members: Path


def shape_of(graph: Graph) -> GraphShape:
    """Return the shape of a graph."""
    inputs: dict[str, Path] = {}
    streams: set[str] = set()
    bundles = {
        member.key: root
        for root in graph.queries.values()
        if isinstance(root, AnyBundle)
        for member in root.members
    }

    def visit(node: Operator) -> str:
        node = bundles.get(key(node), node)
        if (name := key(node)) not in inputs:
            inputs[name] = tuple([visit(each) for each in graph.inputs_of(node)])
            if isinstance(node, Scan):
                streams.add(name)
        return name

    roots = {query: visit(root) for query, root in graph.queries.items()}
    found = (path for root in roots.values() for path in _paths(root, inputs))
    return GraphShape(
        inputs,
        frozenset(streams),
        roots,
        frozenset(below for each in inputs.values() for below in each),
        tuple(islice((path for path in found if path), MOST_PATHS)),
    )


def parts_of(units: Iterable[Unit]) -> tuple[UnitShape, ...]:
    """Return units by names, those first whose output others read."""
    parts = {unit.key: unit for unit in units}
    writers = {key(root): unit.key for unit in parts.values() for root in unit.roots}
    found: dict[str, UnitShape] = {}

    def visit(unit: Unit) -> None:
        if unit.key not in found:
            leaves = tuple(writers.get(name, name) for name in unit.inputs)
            for name in leaves:
                if name in parts:
                    visit(parts[name])
            found[unit.key] = UnitShape(unit.key, leaves, tuple(key(m) for m in unit.members()))

    for each in parts.values():
        visit(each)
    return tuple(found.values())


def _paths(name: str, inputs: Mapping[str, Path]) -> Iterator[Path]:
    if not inputs[name]:
        yield ()  # a stream
    for below in inputs[name]:
        for path in _paths(below, inputs):
            yield (*path, name)
