"""Suspension candidates: the network with everybody who could be suspended, or is, by a name each.

Queries of one bundle do their work together: each of its roots is taken to need the same share of
it. How far that is off shows as soon as some of them are gone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.plan.operators import key
from penstock.qos.load.network import Network, NetworkNode
from penstock.qos.shedding.allocation import Limit
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery
from penstock.schedule.costs.work import Crossing

EXACT = Limit(0.0)
GROUPS = 16  # of a bundle's queries that are told apart, lightest first: a thousand take too long


@dataclass(frozen=True, slots=True)
class SuspensionCandidates:
    """Queries, or a few of one bundle, by a name each; who they are, and what they may give up."""

    network: Network
    limits: Mapping[str, Limit]
    queries: Mapping[str, tuple[str, ...]]

    def went(self, name: str) -> "Gone":
        """Return some of the candidates as they are when they go."""
        above = self.network.queries_above
        nodes = {each: node for each, node in self.network.nodes.items() if name in above[each]}
        return Gone(self.queries[name], self.limits[name], self.network.roots[name], nodes)

    def with_gone(
        self, gone: Mapping[str, "Gone"], rates: Mapping[str, float]
    ) -> "SuspensionCandidates":
        """Return the candidates with those who are away, as they were when they went."""
        nodes, roots, limits = dict(self.network.nodes), dict(self.network.roots), dict(self.limits)
        for name, each in gone.items():
            if each.root:
                nodes |= {n: node for n, node in each.nodes.items() if n not in nodes}
                roots[name], limits[name] = each.root, each.limit
        leaves = {leaf for node in nodes.values() for leaf in node.inputs} - nodes.keys()
        network = replace(
            self.network,
            nodes=nodes,
            roots=roots,
            rates={leaf: rates.get(leaf, 0.0) for leaf in sorted(leaves)},
        )
        return SuspensionCandidates(network, limits, self.queries)


@dataclass(frozen=True, slots=True)
class Gone:
    """Queries that are suspended together, and the nodes that they need; unknown without a root."""

    queries: tuple[str, ...]
    limit: Limit = EXACT
    root: str = ""
    nodes: Mapping[str, NetworkNode] = field(default_factory=dict)


def candidates_of(
    topology: Topology, network: Network, limits: Mapping[str, Limit]
) -> SuspensionCandidates:
    """Return all queries that run, those of a bundle in a few groups, lightest first."""
    nodes, roots = dict(network.nodes), dict(network.roots)
    found = dict(limits)
    queries: dict[str, tuple[str, ...]] = {n: (n,) for n in roots if n in topology.queries}
    for name, at in network.roots.items():
        groups = [] if name in queries or network.readers[at] else _groups(topology, at)
        if not groups:
            continue
        share = 1 / len(topology.units[at].unit.roots)
        for group in groups:
            first = min(query.name.lower() for query in group)
            root = f"{at} for {first}"
            many = len({query.input for query in group})
            nodes[root] = _lighter(network.nodes[at], share * many)
            roots[first] = root
            found[first] = Limit(found[name].most, sum(q.definition.goals.weight for q in group))
            queries[first] = tuple(query.name.lower() for query in group)
        left = len(topology.units[at].unit.roots) - len(
            {q.input for group in groups for q in group}
        )
        if left:
            nodes[at] = _lighter(nodes[at], share * left)
        else:
            del nodes[at], roots[name], found[name]
    return SuspensionCandidates(replace(network, nodes=nodes, roots=roots), found, queries)


def _groups(topology: Topology, at: str) -> list[list[LiveQuery]]:
    """Return the queries on a bundle's roots; those on one root, which need the same, together."""
    live = topology.units.get(at)
    by_root: dict[str, list[LiveQuery]] = {}
    if live is None or live.unit.bundle is None:
        return []
    wanted = {each.input for each in topology.trigger_batches.values()}  # rules are not suspended
    own = {key(root) for root in live.unit.roots} - wanted
    for query in topology.queries.values():
        if query.input in own:
            by_root.setdefault(query.input, []).append(query)
    order = sorted(by_root.values(), key=_weight)
    parts = np.array_split(np.arange(len(order)), min(GROUPS, len(order))) if order else []
    return [[query for place in part for query in order[place]] for part in parts]


def _weight(queries: Iterable[LiveQuery]) -> tuple[float, str]:
    found = list(queries)
    return sum(each.definition.goals.weight for each in found), min(each.name for each in found)


def _lighter(node: NetworkNode, share: float) -> NetworkNode:
    inputs = {
        leaf: Crossing(each.seconds * share, each.selectivity) for leaf, each in node.inputs.items()
    }
    return replace(node, inputs=inputs)
