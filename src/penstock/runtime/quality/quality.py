"""Quality: sees what runs on Spark as a keeper wants to see it, and does what the keeper decides.

Nothing is decided here: that is `qos/contracts/keeper.py`, which the simulator asks, too.
Only the supervisor's thread, or a thread while quiesced, touches it.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.engine.states.tuples.gate import gate_state
from penstock.plan.operators import Gate, key
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.units import Unit
from penstock.qos.contracts.keeper import Keeper
from penstock.qos.contracts.suspension import Promised
from penstock.qos.load.load import Outlook
from penstock.qos.load.moment import LoadSample
from penstock.qos.load.network import HERE, Edge, Network, network_of
from penstock.qos.load.tuning import CALM_LOOK_SECONDS, LOOK_SECONDS, LOOK_SHARE
from penstock.qos.shedding.allocation import Limit
from penstock.qos.shedding.controller import Shedding
from penstock.runtime.quality.shedding_controller import (
    SheddingController,
    limit_of,
    source_reader_of,
    stepped,
    windows_of,
)
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.quality.suspension import Suspending
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

NO_OUTLOOK, NO_SIZES = Outlook(0.0, 0.0, 0.0), Sizes()
NET = 0.5  # of a unit's cost, at least, while its own runs do not tell what one costs by itself


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
    changes: int = 0
    keeper: Keeper = field(default_factory=Keeper)
    _shape: tuple[frozenset[str], GraphShape] | None = None
    suspending: Suspending = field(init=False)
    _rows: dict[str, tuple[int, float]] = field(default_factory=dict)
    _next_look: float = 0.0

    def __post_init__(self) -> None:
        """Be ready to suspend."""
        self.suspending = Suspending(self.topology, self.statistics, self.keeper, self.slots)

    def resize(self, slots: int) -> None:
        """Reckon with another number of slots from now on."""
        self.slots = self.suspending.slots = slots

    @property
    def outlook(self) -> Outlook:
        """Return the load as it was last seen."""
        return self.keeper.outlooks.get(HERE, NO_OUTLOOK)

    @property
    def shedding(self) -> Shedding:
        """Return what is shed for it."""
        return self.keeper.shedding

    def look(self, graph: Callable[[], Graph], now: float) -> None:
        """See how much is to do, and what has to be shed for it, from time to time."""
        if now < self._next_look:
            return
        began = time.thread_time()
        self.keeper.see(self._rates(now), now)
        known = self.network(graph, now)
        self.keeper.adopt(known)
        promised = self.suspending.promised()
        self.keeper.look(self._sample(known, promised, now), promised)
        gates = [live for live in self.topology.units.values() if isinstance(live.unit.root, Gate)]
        if gates or self.suspending.is_needed:
            self._act(gates, now)
        else:
            self.keeper.stop_shedding()
        took = time.thread_time() - began
        pause = CALM_LOOK_SECONDS if self.keeper.is_calm else LOOK_SECONDS
        self._next_look = now + max(pause, took / LOOK_SHARE)

    def _sample(self, network: Network, promised: Promised, now: float) -> LoadSample:
        """Return what waits, and what runs took by their tuples."""
        sizes = {name: self.statistics.sizes.get(name, NO_SIZES) for name in network.nodes}
        rates = {name: self.keeper.forecast.level(name) for name in network.rates}
        ages = self.suspending.ages(promised, now)
        return LoadSample(rates, self._queued(), ages, sizes, self.statistics.lengths)

    def _act(self, gates: Sequence[LiveUnit], now: float) -> None:
        """Let gates keep less, and queries go, where it is too much."""
        self._tell_tempos()
        limits = self.limits(self.keeper.forecast.network)
        self.keeper.shed(limits, now)
        self.shedding_controller.look(gates)
        self._set(gates)
        if self.suspending.is_needed and not self.topology.is_replaying():
            self.suspending.decide(limits, now)

    def network(self, graph: Callable[[], Graph], now: float) -> Network:
        """Return what runs, what a tuple costs each unit without its share of a run, and rates."""
        seen = self.statistics.observation(self.topology, now)
        units = {name: live.unit for name, live in self.topology.units.items()}
        names = frozenset(units)
        if self._shape is None or self._shape[0] != names:
            self._shape = (names, shape_of(graph()))
        return self.network_of(self._shape[1], units, seen, now)

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
        rates = {name: self.keeper.forecast.level(name) for name in found.rates}
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

    def _rates(self, now: float) -> dict[str, float]:
        """Return the tuples a second of each stream since the last look."""
        found = {}
        for name, source_reader in self.topology.source_readers.items():
            rows, at = self._rows.get(name, (source_reader.rows, now))
            if now > at:
                read = max(0, source_reader.rows - rows) / (now - at)
                found[name] = self._rate(source_reader, read)
            self._rows[name] = (source_reader.rows, now)
        return found

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

    def _set(self, gates: Iterable[LiveUnit]) -> None:
        keeps = self.keeper.shedding.placement.keeps
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
