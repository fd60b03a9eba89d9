"""A network with what was timed: the share of the time at work, and how long rows take."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.plan.operators import (
    Operator,
    Scan,
    SessionAggregate,
    WindowAggregate,
    key,
    walk,
)
from penstock.plan.operators.completion import waiting_operators
from penstock.plan.sharing.units import Unit
from penstock.qos.load.estimates import TrainSize
from penstock.qos.load.network import Network, NetworkNode
from penstock.runtime.quality.timings import Timings
from penstock.runtime.topology.topology import Topology

MICROSECONDS = 1_000_000


def timed(
    network: Network, units: Mapping[str, Unit], topology: Topology, timings: Timings, now: float
) -> Network:
    """Return the network with the share of the time of each node, and how long it holds its rows.

    Of a node that has not run both are what its input tells.
    """
    nodes: dict[str, NetworkNode] = {}
    often = {name: timings.frequency(name, now) for name in network.rates}
    for name, node in network.nodes.items():
        often[name] = timings.frequency(name, now) or max(
            (often[each] for each in node.inputs), default=0.0
        )
        held = _own(timings, network, name, held=True)
        if held is None:
            held = _holds(units[name], network, topology)
        busy = timings.share(name, now) or _busy(network, name, often[name])
        nodes[name] = replace(node, busy=busy, held=held)
    handed = list(timings.handing_over(topology).values())
    delivery = max(0.0, sum(handed) / len(handed)) if handed else 0.0
    return replace(network, nodes=nodes, delivery_seconds=delivery)


def work_seconds(network: Network, timings: Timings) -> dict[str, float]:
    """Return how long rows were at the nodes that have given some, from buffer to buffer."""
    found = {name: _own(timings, network, name, held=False) for name in network.nodes}
    return {name: each for name, each in found.items() if each is not None}


def train_sizes(network: Network, topology: Topology, timings: Timings) -> dict[str, TrainSize]:
    """Return how the trains of a network's streams come."""
    found = {}
    for name in network.rates:
        reader = topology.source_readers.get(name)
        rows = reader.rows / reader.number if reader is not None and reader.number else 1.0
        lag = timings.age(name).delay.or_else(0.0)
        found[name] = TrainSize(max(1.0, rows), lag=lag)
    return found


def _own(timings: Timings, network: Network, name: str, *, held: bool) -> float | None:
    """Return how much older rows are behind a node than before it, None where nothing tells."""
    ages = {each: timings.age(each) for each in (name, *network.nodes[name].inputs)}
    found = {each: age.held if held else age.delay for each, age in ages.items()}
    if any(each.weight <= 0 for each in found.values()):
        return None
    before = sum(share * found[each].value for each, share in network.input_shares(name).items())
    return max(0.0, found[name].value - before)


def _busy(network: Network, name: str, often: float) -> float:
    """Return the share of the time that a node will be at work that has not run yet."""
    edges = [(each, name) for each in network.nodes[name].inputs]
    tuples = sum(sum(network.arriving[edge].values()) * network.seconds_on(edge) for edge in edges)
    return tuples + min(often * network.setup(name), max(0.0, 1 - tuples))


def _holds(unit: Unit, network: Network, topology: Topology) -> float:
    """Return how long rows of a unit wait for the watermark, on average, behind their last tuple.

    That is the slack, and until the next tuple comes. What reads windows has waited for it.
    """
    own = {key(each) for each in waiting_operators(unit.stateful, unit.root).values()}
    if unit.stateful is None or not _waits(unit.stateful):
        return 0.0
    gap = unit.stateful.gap / MICROSECONDS if isinstance(unit.stateful, SessionAggregate) else 0.0
    nodes = list(walk(unit.root))
    if any(_waits(each) for each in nodes if key(each) not in own and each is not unit.stateful):
        return gap
    return gap + _slack(nodes, network, topology)


def _waits(operator: Operator) -> bool:
    """Say whether an operator waits for a time; windows over ROWS wait for a tuple of theirs."""
    found = waiting_operators(operator, operator).values()
    return any(not isinstance(each, WindowAggregate) or each.axis == "time" for each in found)


def _slack(nodes: Iterable[Operator], network: Network, topology: Topology) -> float:
    """Return by how much the watermark of the slowest stream is behind its newest tuple."""
    found = [0.0]
    for name in (key(each) for each in nodes if isinstance(each, Scan)):
        reader, rate = topology.source_readers.get(name), network.rates.get(name, 0.0)
        if reader is not None and rate > 0:
            found.append(reader.disorder.slack.total_seconds() + 1 / rate)
    return max(found)
