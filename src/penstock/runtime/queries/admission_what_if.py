"""An admission what-if: the plan with one more query, and what it was promised."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from penstock.plan.operators import key
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.qos.contracts.admission import ProposedPlan
from penstock.qos.contracts.contracts import Contract
from penstock.qos.load.estimates import PlanEstimate, corrections_of
from penstock.qos.load.network import Network
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.names.directory import KnownQuery
from penstock.runtime.quality.quality import Quality
from penstock.runtime.quality.timed_network import timed, train_sizes, work_seconds
from penstock.runtime.topology.placement import placement_of
from penstock.schedule.costs.shape import shape_of


@dataclass(frozen=True, slots=True)
class Foretold:
    """Mean latency of a query, about what p99 of it is, and the part that the system adds."""

    latency: float
    tail: float
    delay: float


class AdmissionWhatIf:
    """The plan with a query, and under which name the query is in it; while quiesced."""

    def __init__(
        self, cutter: GraphCutter, quality: Quality, now: float, known: KnownQuery | None = None
    ) -> None:
        """Cut the graph as it would be; without a query, as it is."""
        self._topology, self._statistics = cutter.topology, cutter.statistics
        graph = self._topology.graph
        if known is not None:
            graph = graph.with_query(known.definition.name.lower(), known.root)
        standing = placement_of(self._topology)
        shared = cutter.shared(graph, standing)
        self._units = {unit.key: unit for unit in cut_at_shared(shared, standing.units)}
        self._roots = {name: key(root) for name, root in graph.queries.items()}
        self._known = known
        seen = self._statistics.observation(self._topology, now)
        found = quality.network_of(shape_of(shared), self._units, seen, now)
        timings = self._statistics.timings
        network = timed(found, self._units, self._topology, timings, now)
        trains = train_sizes(network, self._topology, timings)
        measured = work_seconds(network, timings)
        corrections = corrections_of(network.within(measured), trains, measured)
        states = sum(live.state_bytes for live in self._topology.units.values())
        self.plan = ProposedPlan(network, trains, float(states), corrections)
        self._shares = timings.time_shares(self._topology, now)
        self._handing_over = timings.handing_over(self._topology)

    @property
    def network(self) -> Network:
        """Return what would run."""
        return self.plan.network

    @property
    def utilization(self) -> float:
        """Return the share of its time that the busiest part would be at work."""
        units = {name: node.busy for name, node in self.network.nodes.items()}
        return replace(self._shares, units=units).utilization(sum(self.network.slots.values()))

    def foretold(self, query: str, found: PlanEstimate) -> Foretold:
        """Return what an estimate of the plan says of one query."""
        at = self.name_of(query)
        delivery = self.network.delivery_seconds
        more = self._handing_over.get(query, delivery) - delivery
        return Foretold(found.latency[at] + more, found.tail(at) + more, found.delay(at) + more)

    @property
    def measured(self) -> tuple[int, int]:
        """Return how many units have run, and how many there are."""
        records = self._statistics.records
        return sum(name in records for name in self._units), len(self._units)

    def name_of(self, query: str) -> str:
        """Return the query's name in the network: its own, or that of its bundle."""
        root = self._roots[query]
        return next(
            (name for name, at in self.network.roots.items() if root in self._in(at)), query
        )

    def has_units(self, query: str) -> bool:
        """Say whether a query has units; what is delivered as its stream has it takes none."""
        return self.name_of(query) in self.network.roots

    def broken(self) -> set[str]:
        """Return the queries that are late already: a newcomer is not to blame for that."""
        found = self.plan.estimate()
        names = {name: self.name_of(name) for name in self._topology.queries}
        return {
            name
            for name, query in self._topology.queries.items()
            if names[name] in found.latency
            and found.tail(names[name]) > Contract.of(query.definition.goals).max_latency
        }

    def contracts(self, but: Collection[str] = ()) -> dict[str, Contract]:
        """Return what was promised, by the names of the network: of a bundle, the hardest."""
        running = self._topology.queries.items()
        asked = {name: query.definition.goals for name, query in running if name not in but}
        if self._known is not None:
            asked[self._known.definition.name.lower()] = self._known.definition.goals
        by_root: dict[str, list[Contract]] = {}
        for name, goals in asked.items():
            by_root.setdefault(self._roots[name], []).append(Contract.of(goals))
        return {
            name: _hardest(each for root in self._in(at) for each in by_root.get(root, ()))
            for name, at in self.network.roots.items()
        }

    def _in(self, unit: str) -> set[str]:
        found: Unit | None = self._units.get(unit)
        return {key(each) for each in found.roots} if found is not None else {unit}


def _hardest(contracts: Iterable[Contract]) -> Contract:
    found = list(contracts)
    if not found:
        return Contract()
    return Contract(
        min(each.max_latency for each in found),
        min(each.max_error for each in found),
        sum(each.weight for each in found),
    )
