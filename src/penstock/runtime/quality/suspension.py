"""Suspending: tells a keeper who could go, and orders what it decides.

Whoever goes is known by what it needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.plan.operators import Gate
from penstock.qos.contracts.keeper import Keeper
from penstock.qos.contracts.suspension import Candidates, Promised, SuspensionPlan, heaviest
from penstock.qos.load.forecast import in_slots
from penstock.qos.load.network import HERE
from penstock.qos.load.tuning import LEAST_GOAL
from penstock.qos.shedding.allocation import Limit
from penstock.runtime.quality.run_lengths import KNOWN_RUNS, latencies, promised
from penstock.runtime.quality.statistics import Statistics, queue_of
from penstock.runtime.quality.suspension_candidates import Gone, SuspensionCandidates, candidates_of
from penstock.runtime.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class Orders:
    """Which queries to suspend, with the reason, and which to resume."""

    suspend: Mapping[str, str] = field(default_factory=dict)
    recall: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Say whether anything is to be done."""
        return bool(self.suspend or self.recall)


@dataclass(slots=True)
class Suspending:
    """Who could be suspended; the supervisor, while quiesced, does what is ordered and says so."""

    topology: Topology
    statistics: Statistics
    keeper: Keeper
    slots: int
    orders: Orders = field(default_factory=Orders)
    _gone: dict[str, Gone] = field(default_factory=dict)

    @property
    def is_needed(self) -> bool:
        """Say whether there is anybody to suspend for, or to call back."""
        return bool(self.topology.suspended or promised(self.topology))

    def promised(self) -> Promised:
        """Return what was promised, and to whom."""
        limits = latencies(self.topology)
        asking = bool(limits) or _are_asking(self.topology)
        return Promised(limits, asking, _is_known(self.topology, self.statistics, limits))

    def ages(self, of: Promised, now: float) -> dict[str, float]:
        """Return how long the oldest tuple has waited before each unit that promises need."""
        topology = self.topology
        units = {name: topology.units[name] for name in of.latencies}
        return {name: queue_of(topology, unit, now).age for name, unit in units.items()}

    def decide(self, limits: Mapping[str, Limit], now: float) -> None:
        """Order who goes and who comes back, once what was ordered before has been done."""
        if self.orders:
            return
        self._reconcile(now)
        if not self.keeper.is_strained:
            self.keeper.suspend_nobody(now)
            return
        candidates = candidates_of(self.topology, self.keeper.present, limits)
        candidates = candidates.with_gone(self._gone, self._rates())
        self.keeper.suspend(self._told(candidates), now)
        self._order(candidates)

    def _rates(self) -> dict[str, float]:
        """Return the rates of now of all streams, also of those without readers."""
        forecast = self.keeper.forecast
        return {name: forecast.level(name) for name in (*forecast.trends, *forecast.network.rates)}

    def _told(self, of: SuspensionCandidates) -> Candidates:
        promised_to = {query.name.lower() for query, _ in promised(self.topology)}
        asking = {name for name, each in of.queries.items() if promised_to.intersection(each)}
        spare = heaviest(of.queries, of.limits, asking) | (of.network.roots.keys() - of.queries)
        slots = replace(of.network, slots={**of.network.slots, HERE: self.slots})
        return Candidates(in_slots(slots), of.limits, spare, self.keeper.is_short)

    def done(self) -> None:
        """Note that what was ordered has been done."""
        self.orders = Orders()

    def _order(self, candidates: SuspensionCandidates) -> None:
        new = [name for name in self.keeper.suspended.queries if name not in self._gone]
        back = [name for name in self._gone if name not in self.keeper.suspended.queries]
        whys = {
            each: self.keeper.suspended.queries[n].text()
            for n in new
            for each in candidates.queries[n]
        }
        self.orders = Orders(whys, frozenset(q for n in back for q in self._gone[n].queries))
        self._gone |= {name: candidates.went(name) for name in new}
        for name in back:
            del self._gone[name]

    def _reconcile(self, now: float) -> None:
        """Forget who was dropped or called back by others; take over who was away before us."""
        away = self.topology.suspended.keys()
        self._gone = {
            name: replace(gone, queries=still)
            for name, gone in self._gone.items()
            if (still := tuple(each for each in gone.queries if each in away))
        }
        known = {query for gone in self._gone.values() for query in gone.queries}
        self._gone |= {name: Gone((name,)) for name in away if name not in known}
        unknown = SuspensionPlan(now, 0.0, LEAST_GOAL)
        before = self.keeper.suspended
        queries = {name: before.queries.get(name, unknown) for name in self._gone}
        self.keeper.suspended = replace(before, queries=queries)


def _is_known(topology: Topology, statistics: Statistics, units: Mapping[str, float]) -> bool:
    """Say whether all units have run often enough to know what they need."""
    dear = (name for name in units if not isinstance(topology.units[name].unit.root, Gate))
    records = statistics.records
    return all(name in records and records[name].ever >= KNOWN_RUNS for name in dear)


def _are_asking(topology: Topology) -> bool:
    """Say whether a suspended query was promised a latency."""
    goals = (query.definition.goals for query in topology.suspended.values())
    return any(each.max_latency is not None for each in goals)
