"""Load (ANA-12): the share of its time that each processor needs for what comes in.

Eq. 5.5 sums up paths and deducts what is shared. Here every node is counted once, with all that
comes to it, which is the same sum without the deduction and also holds for joins and unions.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.qos.load.network import Edge, Network
from penstock.qos.load.tuning import ROUNDS

NO_GATES: Mapping[Edge, float] = {}


def load_of(network: Network, keeps: Mapping[Edge, float] = NO_GATES) -> dict[str, float]:
    """Return Φ of each processor for each of its slots; more than 1 is more than it can do."""
    found = dict.fromkeys(network.slots, 0.0)
    for edge, flows in network.flows(keeps).items():
        found[network.nodes[edge[1]].processor] += sum(flows.values()) * network.seconds_on(edge)
    return {name: seconds / network.slots[name] for name, seconds in found.items()}


def backlog_of(network: Network, queued: Mapping[Edge, float]) -> dict[str, float]:
    """Return the seconds that each processor needs for the tuples that wait on edges.

    What comes of them further up is counted, too; who reads no more needs nothing.
    """
    ahead = seconds_ahead(network)
    found = dict.fromkeys(network.slots, 0.0)
    for edge, rows in queued.items():
        for processor, seconds in ahead.get(edge, {}).items():
            found[processor] += rows * seconds
    return {name: seconds / network.slots[name] for name, seconds in found.items()}


def seconds_ahead(network: Network) -> dict[Edge, dict[str, float]]:
    """Return what a tuple on an edge costs each processor until all of its results are out."""
    above: dict[str, dict[str, float]] = {}
    found: dict[Edge, dict[str, float]] = {}
    for name in reversed(list(network.nodes)):
        node = network.nodes[name]
        for below, crossing in node.inputs.items():
            cost = {at: crossing.selectivity * each for at, each in above.get(name, {}).items()}
            cost[node.processor] = cost.get(node.processor, 0.0) + crossing.seconds
            found[below, name] = cost
            rest = above.setdefault(below, {})
            for at, each in cost.items():
                rest[at] = rest.get(at, 0.0) + each
    return found


@dataclass(frozen=True, slots=True)
class Outlook:
    """How a processor stands: what it needs now and soon, and what waits already.

    `wait` is how long what waits will take (for each slot), by Little's law about the latency of a
    tuple that comes now.
    """

    load: float
    ahead: float
    wait: float

    def demand(self, drain_seconds: float, usual_seconds: float = 0.0) -> float:
        """Return the load that also brings what waits to what usually does, within a time."""
        return max(self.load, self.ahead) + max(0.0, self.wait - usual_seconds) / drain_seconds

    def breaks_in(self, max_latency: float) -> float:
        """Return in how many seconds a tuple will wait that long, infinity if never.

        One that just misses its unit's run waits for what waits now, and for its own run in the
        next round, which is as long: so its latency is up to twice what waits.
        """
        longest = max_latency / ROUNDS
        if self.wait >= longest:
            return 0.0
        rising = max(self.load, self.ahead) - 1
        return (longest - self.wait) / rising if rising > 0 else float("inf")
