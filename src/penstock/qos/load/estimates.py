"""Estimates (ANA-18): mean latency and memory of a plan, before anybody has run it.

The processor goes round its units. A unit with input is set up, takes all that waits (a gated
discipline) and gives its results at the end of the run; then it waits for the processor, which is
on vacation with the others. A round's length C follows from that of the one before it:

    C' = F + work that came in C + work of the train that ends an idle time
    F = Σ p · f,  p = 1 − exp(−Λ C) for a unit to which Λ trains a second come

so that its first two moments are known. A tuple waits the rest of the round it comes in, which is
C²/2C on average, and then for its unit's run, f + r · C²/C with r its
load (Takagi's gated polling, with results at
the end of the run; Fuhrmann and Cooper's decomposition is the case of one unit). If it comes in an
idle time it waits only for what its own train causes. What is assumed, and how far off it is:
decision 0018 and `penstock simulate estimates`.

Where some of the plan runs already, it is known how long tuples take there, hand-overs and all:
the model then says by how many times that grows (`Corrections`, decision 0050). What takes no
part in the queues is added: reading, the wait for a watermark, handing over.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.qos.load.load import load_of, seconds_ahead
from penstock.qos.load.network import Edge, Network

ROUNDS = 60  # of the fixed point: it halves the distance or better each time
NEARLY = 1e-9
# A contract is about p99, an estimate about the mean. This is how far they are apart where latency
# is distributed exponentially; `penstock simulate estimates` finds 3 to 4.
TAIL = 4.6


@dataclass(frozen=True, slots=True)
class PlanEstimate:
    """Mean latency of each query and memory of all buffers; infinite past what can be done.

    `work` is the part of a latency that is spent at units and before them, `held` that in which
    the query itself waits for a watermark.
    """

    latency: Mapping[str, float]
    work: Mapping[str, float]
    held: Mapping[str, float]
    memory_bytes: float
    load: float

    def tail(self, query: str) -> float:
        """Return about what p99 of a query's latency is: what is no work varies little."""
        return self.latency[query] + (TAIL - 1) * self.work[query]

    def delay(self, query: str) -> float:
        """Return the mean latency without the wait that the query asks for."""
        return self.latency[query] - self.held[query]


@dataclass(frozen=True, slots=True)
class TrainSize:
    """How a stream comes: tuples together, and the seconds in which they gather.

    `lag` is how long after its arrival a train can be taken.
    """

    rows: float = 1.0
    seconds: float = 0.0
    lag: float = 0.0


@dataclass(frozen=True, slots=True)
class Corrections:
    """By how many times tuples take longer at nodes than the model says: known, and elsewhere."""

    known: Mapping[str, float] = field(default_factory=dict)
    others: float = 1.0

    def at(self, node: str) -> float:
        """Return the factor of a node."""
        return self.known.get(node, self.others)


@dataclass(frozen=True, slots=True)
class _Round:
    """The moments of a round, and the share of time in which there is nothing to do."""

    mean: float
    square: float
    idle: float
    reached: Mapping[str, float]  # trains a second that come to each node

    @property
    def rest(self) -> float:
        """Return how long what comes in a round waits for the next."""
        return self.square / (2 * self.mean) if self.mean > 0 else 0.0


SINGLE_TUPLES = TrainSize()
NO_CORRECTIONS = Corrections()


def estimated(
    network: Network,
    trains: Mapping[str, TrainSize] | None = None,
    corrections: Corrections = NO_CORRECTIONS,
) -> PlanEstimate:
    """Return the mean latencies and the memory that a network comes to on its processors.

    The processors are taken as one of all their slots; only the work of a run is done by one slot.
    """
    trains = trains or {}
    load = max(load_of(network).values(), default=0.0)
    if _is_too_much(network):
        endless = dict.fromkeys(network.roots, math.inf)
        return PlanEstimate(endless, endless, dict.fromkeys(network.roots, 0.0), math.inf, load)
    going = _round(network, trains)
    waits = {
        edge: _wait(network, trains, edge, going) * corrections.at(edge[1])
        for edge in network.arriving
    }
    lags = {name: each.lag + each.seconds / 2 for name, each in trains.items()}
    nowhere = dict.fromkeys(network.arriving, 0.0)
    lag = _along(network, lags, nowhere)
    work = _along(network, {}, waits)
    held = _along(network, {}, {edge: network.nodes[edge[1]].held for edge in network.arriving})
    return PlanEstimate(
        {
            query: lag[root] + work[root] + held[root] + network.delivery_seconds
            for query, root in network.roots.items()
        },
        {query: work[root] for query, root in network.roots.items()},
        {query: held[root] for query, root in network.roots.items()},
        _memory(network, waits),
        load,
    )


def corrections_of(
    network: Network, trains: Mapping[str, TrainSize], measured: Mapping[str, float]
) -> Corrections:
    """Return how far off the model is where nodes of this network were measured.

    `measured` are the mean seconds from when a tuple could be taken to the end of its run.
    """
    if _is_too_much(network):
        return NO_CORRECTIONS
    going = _round(network, trains)
    waits = {edge: _wait(network, trains, edge, going) for edge in network.arriving}
    told = {name: _mean_at(network, name, waits) for name in network.nodes}
    pairs = {
        name: (measured[name], told[name])
        for name in told
        if measured.get(name, 0.0) > 0 and told[name] > 0
    }
    if not pairs:
        return NO_CORRECTIONS
    others = sum(real for real, _ in pairs.values()) / sum(model for _, model in pairs.values())
    return Corrections({name: real / model for name, (real, model) in pairs.items()}, others)


def _is_too_much(network: Network) -> bool:
    return max(load_of(network).values(), default=0.0) >= 1 or busiest(network) >= 1


def busiest(network: Network) -> float:
    """Return the load of the unit that has most to do: it runs in one slot, however many are."""
    own = dict.fromkeys(network.nodes, 0.0)
    for edge, flows in network.arriving.items():
        own[edge[1]] += sum(flows.values()) * network.seconds_on(edge)
    return max(own.values(), default=0.0)


def _slots(network: Network) -> float:
    return sum(network.slots.values())


def _trains_a_second(network: Network, trains: Mapping[str, TrainSize]) -> dict[str, float]:
    return {
        name: rate / max(NEARLY, trains.get(name, SINGLE_TUPLES).rows)
        for name, rate in network.rates.items()
        if rate > 0
    }


def _round(network: Network, trains: Mapping[str, TrainSize]) -> _Round:
    """Return the round that reproduces itself."""
    slots = _slots(network)
    coming = _trains_a_second(network, trains)
    total = sum(coming.values())
    if total <= 0:
        return _Round(0.0, 0.0, 1.0, dict.fromkeys(network.nodes, 0.0))
    work = {name: _work_of_train(network, trains, name) / slots for name in coming}
    busy = sum(many * work[name] for name, many in coming.items())
    first = busy / total  # the work of a train
    squares = sum(many * work[name] ** 2 for name, many in coming.items())
    reached = {
        node: sum(coming[stream] for stream in flows if stream in coming)
        for (_, node), flows in network.arriving.items()
    }
    setups = {node: network.setup(node) / slots for node in reached}
    runs = sum(reached.values())
    least = sum(many * setups[node] for node, many in reached.items()) / runs if runs else 0.0
    mean = least + first
    for _ in range(ROUNDS):
        fixed = sum(setups[node] * (1 - math.exp(-many * mean)) for node, many in reached.items())
        idle = math.exp(-total * mean)
        fixed = max(fixed, least)
        mean = (fixed + idle * first) / (1 - busy)
    square = fixed**2 + 2 * fixed * busy * mean + squares * mean
    square += idle * (2 * fixed * first + squares / total)
    square = max(mean**2, square / (1 - busy**2))
    return _Round(mean, square, idle / total / (mean + idle / total), reached)


def _work_of_train(network: Network, trains: Mapping[str, TrainSize], stream: str) -> float:
    ahead = seconds_ahead(network)
    a_tuple = sum(sum(cost.values()) for (below, _), cost in ahead.items() if below == stream)
    return trains.get(stream, SINGLE_TUPLES).rows * a_tuple


def _wait(network: Network, trains: Mapping[str, TrainSize], edge: Edge, going: _Round) -> float:
    """Return how long a tuple takes from its coming over an edge to the end of its run.

    Whoever reads the same buffer has the same train to do, half of them before.
    """
    setup, length = network.setup(edge[1]), 2 * going.rest
    streams = [stream for stream in network.arriving[edge] if network.rates[stream] > 0]
    own = setup + _train_seconds(network, trains, edge, streams)
    others = [other for other in network.arriving if other[0] == edge[0] and other != edge]
    works = [_train_seconds(network, trains, other, streams) for other in others]
    setups = [network.setup(other[1]) for other in others]
    due = [
        math.exp(-going.reached[other[1]] * length) * each
        for other, each in zip(others, setups, strict=True)
    ]
    halves = 2 * _slots(network)
    alone = own + (sum(works) + sum(setups)) / halves
    rate = sum(network.arriving[edge].values())
    in_round = going.rest + own + rate * network.seconds_on(edge) * length
    in_round += (sum(works) + sum(due)) / halves
    return going.idle * alone + (1 - going.idle) * in_round


def _train_seconds(
    network: Network, trains: Mapping[str, TrainSize], edge: Edge, streams: Iterable[str]
) -> float:
    """Return the work of one train of a stream that leads over an edge, on average."""
    found = [
        network.arriving[edge].get(stream, 0.0)
        * trains.get(stream, SINGLE_TUPLES).rows
        / network.rates[stream]
        * network.seconds_on(edge)
        for stream in streams
    ]
    return sum(found) / len(found) if found else 0.0


def _along(
    network: Network, begin: Mapping[str, float], steps: Mapping[Edge, float]
) -> dict[str, float]:
    """Return, by node, the sum of steps along the ways to it, by how many tuples go each."""
    found = {name: begin.get(name, 0.0) for name in network.rates}
    for name, node in network.nodes.items():
        shares = network.input_shares(name)
        found[name] = sum(shares[each] * (found[each] + steps[each, name]) for each in node.inputs)
    return found


def _mean_at(network: Network, name: str, waits: Mapping[Edge, float]) -> float:
    """Return how long a tuple takes at a node, over all of its inputs."""
    return sum(share * waits[each, name] for each, share in network.input_shares(name).items())


def _memory(network: Network, waits: Mapping[Edge, float]) -> float:
    """Return the bytes of tuples that wait or are at work (Little), each as long as its slowest."""
    found = 0.0
    for name, readers in network.readers.items():
        if not readers:
            continue
        node = network.nodes.get(name)
        size = network.stream_bytes.get(name, 0.0) if node is None else node.tuple_bytes
        rate = sum(network.arriving[name, readers[0]].values())
        found += rate * size * max(waits[name, reader] for reader in readers)
    return found
