"""Levels: which parts of a network lose alike, because no gate may stand between them.

What a node has lost, all have lost that read it without a gate, and with them whatever else those
read. Who reads it through a gate is on another level and may lose more, never less.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.qos.load.network import Network


@dataclass(frozen=True, slots=True)
class Levels:
    """The level of each node and stream, and the queries at each level or above."""

    of: Mapping[str, str]
    queries: Mapping[str, frozenset[str]]

    def above(self, node: str) -> frozenset[str]:
        """Return the queries that lose what is lost at a node."""
        return self.queries[self.of[node]]

    def is_whole(self, stream: str, node: str) -> bool:
        """Say whether no gate can stand between a stream and a node."""
        return self.of[stream] == self.of[node]


def levels_of(network: Network) -> Levels:
    """Return the levels of a network."""
    joined = {name: name for name in (*network.rates, *network.nodes)}
    for name, node in network.nodes.items():
        for below in () if node.sheds else node.inputs:
            joined[_end(joined, below)] = _end(joined, name)
    of = {name: _end(joined, name) for name in joined}
    return Levels(of, _queries(network, of))


def _end(joined: dict[str, str], name: str) -> str:
    while joined[name] != name:
        joined[name] = joined[joined[name]]
        name = joined[name]
    return name


def _queries(network: Network, of: Mapping[str, str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {level: set() for level in of.values()}
    for query, root in network.roots.items():
        found[of[root]].add(query)
    steps = {
        (of[below], of[name]): None
        for name in reversed(list(network.nodes))
        for below in network.nodes[name].inputs
    }
    changed = True
    while changed:  # two levels may each read the other
        changed = False
        for below, above in steps:
            if not found[above] <= found[below]:
                found[below] |= found[above]
                changed = True
    return {level: frozenset(each) for level, each in found.items()}
