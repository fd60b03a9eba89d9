"""The shared graph: all running queries as one set of nodes, equal sub-plans once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.plan.operators import Operator, Scan, key, walk


@dataclass(frozen=True, slots=True)
class Graph:
    """The root operator of each running query, by the query's name.

    `given` are nodes whose trains come from elsewhere: what is below them is not part of it.
    `alone` are roots that share nothing between themselves and the nodes that are named for them.
    """

    queries: Mapping[str, Operator] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    alone: Mapping[str, tuple[Operator, ...]] = field(default_factory=dict)

    def inputs_of(self, node: Operator) -> tuple[Operator, ...]:
        """Return the nodes of the graph that one reads."""
        if (name := key(node)) in self.given:
            return ()
        return self.alone.get(name, node.inputs)

    def with_query(self, name: str, root: Operator) -> "Graph":
        """Return the graph with one query more."""
        return Graph({**self.queries, name: root})

    def nodes(self) -> dict[str, Operator]:
        """Return every node by its key, inputs before their readers."""
        found: dict[str, Operator] = {}

        def visit(node: Operator) -> None:
            if (name := key(node)) not in found:  # what is below is there already, too
                for each in self.inputs_of(node):
                    visit(each)
                found[name] = node

        for root in self.queries.values():
            visit(root)
        return found

    def readers(self) -> dict[str, set[str]]:
        """Return, for each node, the keys of the nodes that read it."""
        found: dict[str, set[str]] = {}
        for name, node in self.nodes().items():
            found.setdefault(name, set())
            for each in self.inputs_of(node):
                found.setdefault(key(each), set()).add(name)
        return found

    def queries_of(self) -> dict[str, list[str]]:
        """Return, for each node, the queries whose answer needs it, by name."""
        found: dict[str, list[str]] = {}
        for name in sorted(self.queries):
            for node in walk(self.queries[name]):
                found.setdefault(key(node), []).append(name)
        return found

    def scans(self) -> Iterator[Scan]:
        """Yield the streams that are read."""
        return (node for node in self.nodes().values() if isinstance(node, Scan))
