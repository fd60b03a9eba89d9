"""Network: what load, shedding, admission and estimates see of a graph: units, edges, rates.

Nodes are whatever runs: units as they are cut, or operators. An edge from a buffer to its reader
has what one of its tuples costs there and how many come out for it, so that a join's sides differ.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from penstock.schedule.costs.work import Crossing, UnitWork

Edge = tuple[str, str]  # the buffer that is read, and the node that reads it

HERE = ""  # the processor, where there is only one


@dataclass(frozen=True, slots=True)
class NetworkNode:
    """What runs: its inputs, the size of what comes out, and where it runs.

    Of its time it is at work the share `busy`. A run of it takes `setup` seconds whatever it takes
    in, or the network's where that is None. Its rows are `held` for so long by its input's
    watermark, which is no work. Where `sheds` is false no gate may stand before it: what it reads
    are no longer single tuples that could be missed, but answers.
    """

    inputs: Mapping[str, Crossing]
    tuple_bytes: float = 0.0
    processor: str = HERE
    sheds: bool = True
    setup: float | None = None
    busy: float = 0.0
    held: float = 0.0


@dataclass(frozen=True)
class Network:
    """Nodes, inputs first; rates of streams in tuples a second; the node of each query.

    `slots` are the tasks that each processor can run at once, `run_seconds` what a run costs
    whatever it takes, `delivery_seconds` what it takes to hand an answer over.
    """

    nodes: Mapping[str, NetworkNode]
    rates: Mapping[str, float]
    roots: Mapping[str, str]
    slots: Mapping[str, float] = field(default_factory=lambda: {HERE: 1})
    run_seconds: float = 0.0
    stream_bytes: Mapping[str, float] = field(default_factory=dict)
    delivery_seconds: float = 0.0

    @cached_property
    def queries_above(self) -> Mapping[str, frozenset[str]]:
        """Return the queries whose answers need each node and stream."""
        found: dict[str, set[str]] = {name: set() for name in (*self.rates, *self.nodes)}
        for query, root in self.roots.items():
            found[root].add(query)
        for name in reversed(list(self.nodes)):
            for below in self.nodes[name].inputs:
                found[below] |= found[name]
        return {name: frozenset(each) for name, each in found.items()}

    @cached_property
    def answers(self) -> frozenset[str]:
        """Return the nodes whose output is a query's answer."""
        return frozenset(self.roots.values())

    @cached_property
    def arriving(self) -> Mapping[Edge, Mapping[str, float]]:
        """Return, by stream, the tuples a second that come over each edge while nothing is shed."""
        return self.flows({})

    def flows(self, keeps: Mapping[Edge, float]) -> dict[Edge, dict[str, float]]:
        """Return what comes over each edge where some have gates, by the stream that it is from.

        A join finds fewer partners where its other side is thinned; that is not counted, so that
        the load is never more than what is told.
        """
        out: dict[str, dict[str, float]] = {name: {name: rate} for name, rate in self.rates.items()}
        over: dict[Edge, dict[str, float]] = {}
        for name, node in self.nodes.items():
            mine: dict[str, float] = {}
            for below, crossing in node.inputs.items():
                keep = keeps.get((below, name), 1.0)
                passed = {each: rate * keep for each, rate in out.get(below, {}).items()}
                over[below, name] = passed
                for each, rate in passed.items():
                    mine[each] = mine.get(each, 0.0) + rate * crossing.selectivity
            out[name] = mine
        return over

    def seconds_on(self, edge: Edge) -> float:
        """Return what a tuple costs the node that it comes to."""
        return self.nodes[edge[1]].inputs[edge[0]].seconds

    def setup(self, name: str) -> float:
        """Return what a run of a node costs whatever it takes."""
        own = self.nodes[name].setup
        return self.run_seconds if own is None else own

    def input_shares(self, name: str) -> dict[str, float]:
        """Return which share of a node's tuples comes from each input; none where none come."""
        many = {each: sum(self.arriving[each, name].values()) for each in self.nodes[name].inputs}
        total = sum(many.values())
        return {each: rate / total if total > 0 else 0.0 for each, rate in many.items()}

    @cached_property
    def readers(self) -> Mapping[str, tuple[str, ...]]:
        """Return who reads each node and stream."""
        found: dict[str, list[str]] = {name: [] for name in (*self.rates, *self.nodes)}
        for name, node in self.nodes.items():
            for below in node.inputs:
                found[below].append(name)
        return {name: tuple(each) for name, each in found.items()}

    def without(self, queries: frozenset[str]) -> "Network":
        """Return the network without some queries and what only they need."""
        roots = {query: root for query, root in self.roots.items() if query not in queries}
        nodes = {
            name: node for name, node in self.nodes.items() if self.queries_above[name] - queries
        }
        return replace(self, nodes=nodes, roots=roots)

    def within(self, names: Collection[str]) -> "Network":
        """Return the network of some nodes, as far as all that they read is in it, too."""
        nodes: dict[str, NetworkNode] = {}
        for name, node in self.nodes.items():
            if name in names and node.inputs.keys() <= self.rates.keys() | nodes.keys():
                nodes[name] = node
        roots = {query: root for query, root in self.roots.items() if root in nodes}
        return replace(self, nodes=nodes, roots=roots)


def network_of(work: UnitWork, slots: int = 1) -> Network:
    """Return the network of units as they are cut, with the rates that were observed."""
    flow, seen = work.flow, work.seen
    nodes = {
        part.key: NetworkNode(
            {leaf: work.crossings[part.key, leaf] for leaf in part.leaves},
            flow.kept_bytes.get(part.key, 0.0),
        )
        for part in work.parts
    }
    streams = {leaf for node in nodes.values() for leaf in node.inputs} - nodes.keys()
    return Network(
        nodes,
        {name: seen.operator(name).rate.or_else(0.0) for name in sorted(streams)},
        {query: root for query, root in flow.shape.roots.items() if root in nodes},
        {HERE: slots},
        seen.run_seconds,
        {name: flow.tuple_bytes.get(name, 0.0) for name in streams},
    )
