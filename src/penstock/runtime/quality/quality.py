"""Quality: looks at the load, and lets gates keep less before promises break.

Only the supervisor's thread, or a thread while quiesced, touches it.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.engine.states.tuples.gate import gate_state
from penstock.plan.operators import Gate, key
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit
from penstock.qos.load.estimates import busiest
from penstock.qos.load.forecast import Usual
from penstock.qos.load.load import Outlook, backlog_of, load_of
from penstock.qos.load.network import HERE, Edge, Network, NetworkNode, network_of
from penstock.qos.load.trend import Trend
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.controller import NOT_SHEDDING, Rule, Shedding, adjusted
from penstock.runtime.quality.shedding_controller import (
    PATIENCE_SECONDS,
    SheddingController,
    limit_of,
    source_reader_of,
    stepped,
    windows_of,
)
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.quality.suspension import Seen, Suspending
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology.read_ahead import is_ahead
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.live_unit import LiveUnit
from penstock.schedule import Observation
from penstock.schedule.costs.flow import LEAST_SECONDS, flow_of
from penstock.schedule.costs.record import RunRecord
from penstock.schedule.costs.run_cost import LEAST_NET
from penstock.schedule.costs.shape import GraphShape, parts_of, shape_of
from penstock.schedule.costs.sizes import Sizes
from penstock.schedule.costs.work import Crossing, work_of

LOOK_SECONDS, CALM_SECONDS = 0.5, 1.0  # between looks; the latter in calm times
CALM = 0.7  # of the load past which something has to go: gates see to a sudden burst by themselves
LOOK_SHARE = 0.02  # of the time, computing: with very many queries it is looked at less often
AHEAD_SECONDS = 1.0  # for which the load is foreseen: what waits can still be dropped
GOAL = 0.8  # of the load that is left: what it is foreseen from is a few runs
NET = 0.5  # of a unit's cost, at least, while its own runs do not tell what one costs by itself
SURE_SECONDS = 1.0  # for which more than can be done is foreseen before anything is shed


@dataclass(frozen=True, slots=True)
class UnitCost:
    """What a unit's tuple costs without its share of a run, and a run whatever it takes in.

    Both add up to what its runs took. `net` is the share of its tuples. Without any measure a tuple
    costs what operators do, and a run what runs do elsewhere.
    """

    seconds: float
    setup: float | None
    net: float

    @classmethod
    def of(cls, record: RunRecord, net: float) -> "UnitCost":
        """Return the cost of a unit that has run."""
        tuples = net * record.seconds / record.rows_in if record.rows_in > 0 else 0.0
        return cls(tuples, (1 - net) * record.seconds / record.runs, net)


@dataclass(slots=True)
class Quality:
    """The load as it was last seen, and what is shed for it."""

    topology: Topology
    statistics: Statistics
    shedding_controller: SheddingController
    slots: int
    shedding: Shedding = NOT_SHEDDING
    outlook: Outlook = field(default_factory=lambda: Outlook(0.0, 0.0, 0.0))
    changes: int = 0
    _shape: tuple[frozenset[str], GraphShape] | None = None
    suspending: Suspending = field(init=False)
    _trends: dict[str, Trend] = field(default_factory=dict)
    _usual: dict[str, Usual] = field(default_factory=dict)
    _rows: dict[str, tuple[int, float]] = field(default_factory=dict)
    _next_look: float = 0.0
    _over_since: float | None = None

    def __post_init__(self) -> None:
        """Be ready to suspend."""
        self.suspending = Suspending(self.topology, self.statistics)

    def look(self, graph: Callable[[], Graph], now: float) -> None:
        """See how much is to do, and what has to be shed for it, from time to time."""
        if now < self._next_look:
            return
        began = time.thread_time()
        self._follow_rates(now)
        gates = [live for live in self.topology.units.values() if isinstance(live.unit.root, Gate)]
        network, soon = self._seen(graph, now)
        if gates or self.suspending.is_needed:
            self._act(gates, network, soon, now)
        else:
            self.shedding = NOT_SHEDDING
        took = time.thread_time() - began
        pause = CALM_SECONDS if self._is_calm() else LOOK_SECONDS
        self._next_look = now + max(pause, took / LOOK_SHARE)

    def _seen(self, graph: Callable[[], Graph], now: float) -> tuple[Network, Network]:
        """See how much there is to do, now and soon, whether or not something gives way for it."""
        known, queued, rule = self.network(graph, now), self._queued(), self._rule()
        network = self._by_size(known, known.rates, queued, rule)
        soon = self._by_size(known, self._foreseen(known.rates), queued, rule)
        waits = backlog_of(network, queued)
        self.outlook = Outlook(load_of(network)[HERE], load_of(soon)[HERE], waits[HERE])
        return network, soon

    def _act(self, gates: Sequence[LiveUnit], network: Network, soon: Network, now: float) -> None:
        """Let gates keep less, and queries go, where it is too much."""
        self._tell_tempos()
        limits, rule = self.limits(network), self._rule()
        outlooks = {HERE: self.outlook}
        if self._is_sure(rule, now):
            self.shedding = adjusted(self.shedding, soon, outlooks, limits, now, rule)
        self.shedding_controller.look(gates)
        self._set(gates)
        if self.suspending.is_needed and not self.topology.is_replaying():
            rates = {name: each.window.or_else(0.0) for name, each in self._usual.items()}
            self.suspending.decide(Seen(network, rates, limits, self.outlook), now)

    def _is_calm(self) -> bool:
        """Say whether the load is far below capacity, so that nothing has to give way."""
        is_whole = not (self.shedding.is_active or self.topology.suspended)
        return is_whole and self._demand(self._rule()) < CALM

    def _is_sure(self, rule: Rule, now: float) -> bool:
        """Say whether to believe what is foreseen: first runs of a new size tell what they cost.

        Nothing is lost by that: what waits before a gate can still be dropped.
        """
        if self._demand(rule) <= rule.start:
            self._over_since = None
        elif self._over_since is None:
            self._over_since = now
        wait = min(SURE_SECONDS, rule.usual_seconds)
        return self.shedding.is_active or now - (self._over_since or now) >= wait

    def _demand(self, rule: Rule) -> float:
        return self.outlook.demand(rule.drain_seconds, rule.usual_seconds)

    def network(self, graph: Callable[[], Graph], now: float) -> Network:
        """Return what runs, what a tuple costs each unit without its share of a run, and rates."""
        seen = self.statistics.observation(self.topology, now)
        units = {name: live.unit for name, live in self.topology.units.items()}
        names = frozenset(units)
        if self._shape is None or self._shape[0] != names:
            self._shape = (names, shape_of(graph()))
        return self.network_of(self._shape[1], units, seen, now)

    def _by_size(
        self,
        network: Network,
        rates: Mapping[str, float],
        queued: Mapping[Edge, float],
        rule: Rule,
    ) -> Network:
        """Return the network at some rates; tuples cost what they do in runs of what there is then.

        What waits goes together, and what comes in a quarter of the shortest latency.
        """
        nodes: dict[str, NetworkNode] = {}
        flows = replace(network, rates=rates).flows({})
        for name, node in network.nodes.items():
            rows = 0.0
            for leaf in node.inputs:
                below = network.nodes[leaf].inputs if leaf in network.nodes else ()
                rows += queued.get((leaf, name), 0.0)
                rows += sum(queued.get((each, leaf), 0.0) for each in below)
                rows += rule.usual_seconds * sum(flows[leaf, name].values())
            rows = min(rows, self.statistics.lengths.get(name, rows))
            cost = self.statistics.sizes.get(name, Sizes()).cost(rows)
            inputs = {
                leaf: Crossing(max(cost, LEAST_SECONDS), each.selectivity)
                for leaf, each in node.inputs.items()
            }
            nodes[name] = replace(node, inputs=inputs)
        return _in_slots(replace(network, nodes=nodes, rates=rates))

    def network_of(
        self, shape: GraphShape, units: Mapping[str, Unit], seen: Observation, now: float
    ) -> Network:
        """Return the network of some units, whether they run or would."""
        work = work_of(flow_of(shape, seen), parts_of(units.values()), seen)
        found = network_of(work, self.slots)
        costs = self._unit_costs(seen.run_seconds, now)
        others = _mean_cost(costs, self.statistics, now)
        nodes = {}
        for name, node in found.nodes.items():
            is_gate = isinstance(units[name].root, Gate)
            cost = costs.get(name, others)
            inputs = {
                leaf: Crossing(
                    each.seconds * cost.net if name in costs else cost.seconds or each.seconds,
                    1.0 if is_gate else each.selectivity,
                )
                for leaf, each in node.inputs.items()
            }
            nodes[name] = replace(node, inputs=inputs, sheds=is_gate, setup=cost.setup)
        rates = {name: self._level(name) for name in found.rates}
        return replace(found, nodes=nodes, rates=rates)

    def _unit_costs(self, run_seconds: float, now: float) -> dict[str, UnitCost]:
        """Return the costs of the units that have run."""
        records = {name: self.statistics.record(name, now) for name in self.statistics.records}
        return {
            name: UnitCost.of(record, net_share(record, run_seconds))
            for name, record in records.items()
            if record.runs > 0
        }

    def limits(self, network: Network) -> dict[str, Limit]:
        """Return what each query, or each bundle of queries, may give up of its tuples."""
        by_root: dict[str, list[LiveQuery]] = {}
        for query in self.topology.queries.values():
            by_root.setdefault(query.input, []).append(query)
        found: dict[str, Limit] = {}
        for name, root in network.roots.items():
            live = self.topology.units.get(root)
            roots = {key(each) for each in live.unit.roots} if live is not None else {root}
            found[name] = _least(limit_of(each) for r in roots for each in by_root.get(r, ()))
        return found

    def _follow_rates(self, now: float) -> None:
        for name, source_reader in self.topology.source_readers.items():
            rows, at = self._rows.get(name, (source_reader.rows, now))
            if now > at:
                rate = self._rate(source_reader, max(0, source_reader.rows - rows) / (now - at))
                self._trends[name] = self._trends.get(name, Trend()).add(rate, now)
                self._usual[name] = self._usual.get(name, Usual()).add(rate, now)
            self._rows[name] = (source_reader.rows, now)

    def _rate(self, source_reader: SourceReader, read: float) -> float:
        """Return the tuples a second that come, where so many were read.

        A source that is held back is no slower for that, and what has piled up in it is read
        faster than it comes: both is told by the stream's own time.
        """
        comes = source_reader.tempo.per_second
        buffer = self.topology.buffers.get(source_reader.key)
        if not comes or buffer is None:
            return read
        return comes if is_ahead(buffer, self.topology) else min(read, comes)

    def _tell_tempos(self) -> None:
        """Tell queries with an error bound how large their groups will be."""
        for query in self.topology.queries.values():
            if (
                query.promise is not None
                and (source_reader := source_reader_of(self.topology, query)) is not None
            ):
                query.promise.tempo = source_reader.tempo
                query.promise.span = windows_of(query).span

    def _level(self, name: str) -> float:
        return self._trends.get(name, Trend()).level

    def _foreseen(self, rates: Mapping[str, float]) -> dict[str, float]:
        return {
            name: max(rate, self._trends.get(name, Trend()).ahead(AHEAD_SECONDS))
            for name, rate in rates.items()
        }

    def _queued(self) -> dict[Edge, float]:
        """Return the rows that wait before each unit, by the unit that wrote them, or the stream.

        A bundle writes into a buffer for each of its roots; in the network it is one node.
        """
        found: dict[Edge, float] = {}
        for name, live in self.topology.units.items():
            for leaf in live.unit.inputs:
                if (buffer := self.topology.buffers.get(leaf)) is not None:
                    rows = sum(train.rows.count for train in buffer.waiting(live.reader))
                    edge = (self._writer(leaf), name)
                    found[edge] = found.get(edge, 0.0) + rows
        return found

    def _writer(self, leaf: str) -> str:
        live = self.topology.writers.get(leaf)
        return leaf if live is None else live.unit.key

    def _rule(self) -> Rule:
        """Return how hard the controller is: half of the shortest latency is for what waits."""
        promises = (query.promise for query in self.topology.queries.values())
        shortest = min((p.contract.max_latency for p in promises if p), default=PATIENCE_SECONDS)
        shortest = min(shortest, PATIENCE_SECONDS)
        return Rule(goal=GOAL, drain_seconds=shortest / 2, usual_seconds=shortest / 4)

    def _set(self, gates: Iterable[LiveUnit]) -> None:
        keeps = self.shedding.placement.keeps
        for live in gates:
            edges = ((self._writer(leaf), live.unit.key) for leaf in live.unit.inputs)
            keep = min(keeps.get(edge, 1.0) for edge in edges)
            keep = stepped(
                max(keep, 1 - self.shedding_controller.allowed(live))
            )  # less than it was, perhaps
            if keep != (gate := gate_state(live.state)).keep:
                self.changes += 1
                gate.keep = keep


def _mean_cost(costs: Mapping[str, UnitCost], statistics: Statistics, now: float) -> UnitCost:
    """Return what a unit is taken to cost that has not run: of all tuples and runs, the mean.

    Gates are no measure: they need no more than a hash.
    """
    heavy = [name for name in costs if name not in statistics.light]
    records = {name: statistics.record(name, now) for name in heavy}
    rows = sum(each.rows_in for each in records.values())
    runs = sum(each.runs for each in records.values())
    if not rows or not runs:
        return UnitCost(0.0, None, 1.0)
    tuples = sum(costs[name].seconds * each.rows_in for name, each in records.items())
    setups = sum((costs[name].setup or 0.0) * each.runs for name, each in records.items())
    return UnitCost(max(LEAST_SECONDS, tuples / rows), setups / runs, 1.0)


def _in_slots(network: Network) -> Network:
    """Return the network with the slots that its work can use: a unit runs in one at a time."""
    slots = network.slots[HERE]
    most = busiest(network)
    used = slots * load_of(network)[HERE] / most if most > 0 else slots
    return replace(network, slots={**network.slots, HERE: min(slots, max(1.0, used))})


def net_share(record: RunRecord, run_seconds: float) -> float:
    """Return the share of a unit's time that its tuples cost, and not its runs.

    Where the unit's own runs differ enough, a line through them tells. Else it is what runs cost
    elsewhere, which is an estimate: load must not be overlooked.
    """
    if record.seconds <= 0:
        return 1.0
    own = record.run_seconds
    least, each = (LEAST_NET, own) if own > 0 else (NET, run_seconds)
    return max(least, 1.0 - each * record.runs / record.seconds)


def _least(limits: Iterable[Limit]) -> Limit:
    """Return what all of them may give up together."""
    found = list(limits)
    if not found:
        return Limit(0.0)
    return Limit(min(each.most for each in found), sum(each.weight for each in found))
