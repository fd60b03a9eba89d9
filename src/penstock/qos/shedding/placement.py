"""Placement (ANA-15, ANA-16): where gates stand, and how much each lets through.

What the document leaves open about merging (H9) is decision 0018: a gate stands on an edge and
drops for every query above it. Queries that share an edge share its gate, which takes the least
that any of them may give up; who may give up more has a second gate where its own way begins.
A query that several ways lead to gives up on each of them the same share, so that what all of them
keep together is what it asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from penstock.qos.load.load import seconds_ahead
from penstock.qos.load.network import Edge, Network
from penstock.qos.shedding.allocation import NOTHING, Allocation, Limit, WorkShare, allocate
from penstock.qos.shedding.gates import LEAST_KEEP
from penstock.qos.shedding.levels import Levels, levels_of

Stake = tuple[str, str]  # a stream, and the level of queries that must give up alike
Shares = Mapping[Stake, float]


@dataclass(frozen=True, slots=True)
class Placement:
    """The keep rate of each gate, by its edge; the share of its answer that each query gives up.

    `short` is the load of each processor that could not be released.
    """

    keeps: Mapping[Edge, float]
    shed: Mapping[str, float]
    short: Mapping[str, float]


NO_PLACEMENT = Placement({}, {}, {})


def place(
    network: Network,
    limits: Mapping[str, Limit],
    release: Mapping[str, float],
    gate_seconds: float = 0.0,
) -> Placement:
    """Return gates that release a load of each processor at the least weighted error.

    Queries without a limit give up nothing. Where several processors are overloaded, each is
    relieved by itself and a stake gives up the most that any of them asks of it.
    """
    levels = levels_of(network)
    stakes = _limits(network, limits, levels)
    shed: dict[Stake, float] = dict.fromkeys(stakes, 0.0)
    short: dict[str, float] = {}
    for processor, wanted in release.items():
        if wanted > NOTHING:
            found = _relieve(network, levels, stakes, processor, wanted)
            short[processor] = found.short
            shed = {stake: max(each, found.shed[stake]) for stake, each in shed.items()}
    keeps = _keeps(network, levels, shed, gate_seconds)
    return Placement(keeps, shed_of(network, keeps), short)


def shed_of(network: Network, keeps: Mapping[Edge, float]) -> dict[str, float]:
    """Return the share of its answer that each query loses by gates, all of them in a row."""
    below: dict[str, list[float]] = {query: [] for query in network.roots}
    for edge, keep in keeps.items():
        for query in network.queries_above[edge[1]]:
            below[query].append(keep)
    return {query: 1 - prod(each) for query, each in below.items()}


def place_weight(rate: float, most: float, seconds: float, gate_seconds: float) -> float:
    """Return the load that a drop of the share `most` saves there, over that share (Eq. 5.6)."""
    return rate * seconds - rate * gate_seconds / most if most > 0 else 0.0


def _ways(network: Network) -> dict[str, dict[str, int]]:
    """Return on how many ways each stream's tuples reach each node."""
    found: dict[str, dict[str, int]] = {name: {name: 1} for name in network.rates}
    for name, node in network.nodes.items():
        mine: dict[str, int] = {}
        for below in node.inputs:
            for stream, many in found.get(below, {}).items():
                mine[stream] = mine.get(stream, 0) + many
        found[name] = mine
    return found


def _limits(network: Network, limits: Mapping[str, Limit], levels: Levels) -> dict[Stake, Limit]:
    """Return what each stake may give up: no more than any of its queries on each of its ways.

    Ways without a gate give up nothing, and leave what there is to the others.
    """
    ways = _ways(network)
    found: dict[Stake, Limit] = {}
    for query, root in network.roots.items():
        asked = limits.get(query, Limit(0.0))
        keep = max(LEAST_KEEP, 1 - asked.most)
        gated = {each: many for each, many in ways[root].items() if not levels.is_whole(each, root)}
        most = 1 - keep ** (1 / max(1, sum(gated.values())))
        for stream in ways[root]:
            stake, mine = (stream, levels.of[root]), most if stream in gated else 0.0
            other = found.get(stake, Limit(1.0, 0.0))
            found[stake] = Limit(min(mine, other.most), asked.weight + other.weight)
    return found


def _relieve(
    network: Network,
    levels: Levels,
    stakes: Mapping[Stake, Limit],
    processor: str,
    wanted: float,
) -> Allocation[Stake]:
    slots = network.slots[processor]
    pieces = [
        WorkShare(
            rate * network.seconds_on(edge) / slots,
            frozenset(_stakes_at(network, levels, edge[1], stream) & stakes.keys()),
        )
        for edge, flows in network.arriving.items()
        if network.nodes[edge[1]].processor == processor
        for stream, rate in flows.items()
        if not levels.is_whole(stream, edge[1])
    ]
    return allocate(pieces, stakes, wanted)


def _stakes_at(network: Network, levels: Levels, node: str, stream: str) -> frozenset[Stake]:
    """Return whose share of a stream is lost at a node: all that are there or further up."""
    return frozenset((stream, levels.of[network.roots[each]]) for each in levels.above(node))


def _keeps(
    network: Network, levels: Levels, shed: Shares, gate_seconds: float
) -> dict[Edge, float]:
    """Return the gates that make stakes give up their shares, each beyond the gates below it."""
    gone: dict[tuple[str, str], float] = {}
    for (_, name), flows in network.arriving.items():
        for stream in flows:
            stakes = _stakes_at(network, levels, name, stream) & shed.keys()
            lost = min((shed[each] for each in stakes), default=0.0)
            gone[name, stream] = 0.0 if levels.is_whole(stream, name) else lost
    costs = seconds_ahead(network)
    found: dict[Edge, float] = {}
    for (below, name), flows in network.arriving.items():
        kept = ((1 - gone[name, each]) / (1 - gone.get((below, each), 0.0)) for each in flows)
        keep = prod(kept)
        if keep < 1 - NOTHING:
            found[_best_edge(network, (below, name), 1 - keep, costs, gate_seconds)] = keep
    return found


def _best_edge(
    network: Network,
    edge: Edge,
    drop: float,
    costs: Mapping[Edge, Mapping[str, float]],
    gate_seconds: float,
) -> Edge:
    """Return the place of the greatest weight among those that drop for the same queries."""

    def weight(at: Edge) -> float:
        rate = sum(network.arriving[at].values())
        return place_weight(rate, drop, sum(costs[at].values()), gate_seconds)

    return max(_line(network, edge), key=weight)


def _line(network: Network, edge: Edge) -> Iterable[Edge]:
    """Yield an edge and those that follow it without a fork or another input."""
    while True:
        yield edge
        readers = network.readers[edge[1]]
        is_fork = len(readers) != 1 or edge[1] in network.answers
        if is_fork or len(network.nodes[edge[1]].inputs) != 1:
            return
        above = network.nodes[readers[0]]
        if len(above.inputs) != 1 or not above.sheds:
            return
        edge = (edge[1], readers[0])
