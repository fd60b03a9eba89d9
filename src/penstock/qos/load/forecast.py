"""Forecast: the rates of the next second, and how the processors stand with them.

What a tuple costs depends on the run it is in: the load is that of runs as large as the next will
be, of what waits, and of what comes in a quarter of the shortest latency.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.qos.load.estimates import busiest
from penstock.qos.load.load import Outlook, backlog_of, load_of
from penstock.qos.load.moment import LoadSample
from penstock.qos.load.network import HERE, Network, NetworkNode
from penstock.qos.load.trend import Trend
from penstock.qos.load.tuning import AHEAD_SECONDS, PATIENT_SECONDS, USUAL_PART
from penstock.schedule.costs.flow import LEAST_SECONDS
from penstock.schedule.costs.observation import UNMEASURED, Average
from penstock.schedule.costs.work import Crossing

WINDOW_SECONDS = 10.0  # over which a rate is that of a window
LONG_SECONDS = 60.0  # half life of what windows usually have
NINE_OF_TEN = 1.2816  # standard deviations of a normal distribution


@dataclass(frozen=True, slots=True)
class Usual:
    """The mean rate of about a window, and how it varies from window to window."""

    window: Average = UNMEASURED
    mean: Average = UNMEASURED
    square: Average = UNMEASURED

    def add(self, rate: float, now: float) -> "Usual":
        """Return it with one more sample."""
        window = self.window.add(rate, now, half_life=WINDOW_SECONDS / 2)
        mean = self.mean.add(window.value, now, half_life=LONG_SECONDS)
        return Usual(window, mean, self.square.add(window.value**2, now, half_life=LONG_SECONDS))

    @property
    def low(self) -> float:
        """Return a rate that nine windows of ten exceed, or that of this one if it is lower."""
        mean = self.mean.or_else(0.0)
        spread = math.sqrt(max(0.0, self.square.or_else(0.0) - mean**2))
        return max(0.0, min(self.window.or_else(0.0), mean - NINE_OF_TEN * spread))


class Forecast:
    """What is known of the rates; it goes on where costs, or the graph, are others."""

    def __init__(self, network: Network) -> None:
        """Know nothing of the rates yet."""
        self.network = network
        self.trends: dict[str, Trend] = {}
        self.usual: dict[str, Usual] = {}

    def adopt(self, network: Network) -> None:
        """Go on with other costs, or another graph; what is known of streams is kept."""
        self.network = network

    def see(self, rates: Mapping[str, float], now: float) -> None:
        """Note the rates of streams since the last time."""
        for name, rate in rates.items():
            self.trends[name] = self.trends.get(name, Trend()).add(rate, now)
            self.usual[name] = self.usual.get(name, Usual()).add(rate, now)

    def level(self, name: str) -> float:
        """Return a stream's rate of now."""
        return self.trends.get(name, Trend()).level

    def outlooks(
        self, seen: LoadSample, usual_seconds: float = USUAL_PART * PATIENT_SECONDS
    ) -> dict[str, Outlook]:
        """Return how each processor stands, without any gate."""
        network = self.present(seen, usual_seconds)
        present, ahead = load_of(network), load_of(self.ahead(seen, usual_seconds))
        waits = backlog_of(network, seen.queued)
        return {name: Outlook(present[name], ahead[name], waits[name]) for name in present}

    def present(self, seen: LoadSample, usual_seconds: float) -> Network:
        """Return the network with the rates of now."""
        rates = {name: self.level(name) for name in self.network.rates}
        return by_size(replace(self.network, rates=rates), seen, usual_seconds)

    def ahead(self, seen: LoadSample, usual_seconds: float) -> Network:
        """Return the network with the rates of the next second; that they fall is not hoped."""
        trends = {name: self.trends.get(name, Trend()) for name in self.network.rates}
        rates = {name: max(each.level, each.ahead(AHEAD_SECONDS)) for name, each in trends.items()}
        return by_size(replace(self.network, rates=rates), seen, usual_seconds)


def by_size(network: Network, seen: LoadSample, usual_seconds: float) -> Network:
    """Return the network where tuples cost what they do in runs of what there is then.

    What waits goes together, and what comes in the usual seconds. What has no measure costs what
    the network says; where measures are kept and there is none yet, it is left out: a first run
    would tell far too much.
    """
    flows = network.flows({})
    nodes: dict[str, NetworkNode] = {}
    for name, node in network.nodes.items():
        if (sizes := seen.sizes.get(name)) is None:
            nodes[name] = node
            continue
        rows = 0.0
        for leaf in node.inputs:
            below = network.nodes[leaf].inputs if leaf in network.nodes else ()
            rows += seen.queued.get((leaf, name), 0.0)
            rows += sum(seen.queued.get((each, leaf), 0.0) for each in below)
            rows += usual_seconds * sum(flows[leaf, name].values())
        cost = max(LEAST_SECONDS, sizes.cost(min(rows, seen.lengths.get(name, rows))))
        inputs = {leaf: Crossing(cost, each.selectivity) for leaf, each in node.inputs.items()}
        nodes[name] = replace(node, inputs=inputs)
    return in_slots(replace(network, nodes=nodes))


def in_slots(network: Network) -> Network:
    """Return the network with the slots that its work can use: a unit runs in one at a time."""
    if HERE not in network.slots:
        return network
    slots, most = network.slots[HERE], busiest(network)
    used = slots * load_of(network)[HERE] / most if most > 0 else slots
    return replace(network, slots={**network.slots, HERE: min(slots, max(1.0, used))})
