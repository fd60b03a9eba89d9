"""Suspending: who goes when all that may be shed is too little, and who comes back.

Only where somebody was promised a latency and what waits breaks it. Whoever goes is known by what
it needed; it comes back when there has been room for that, or at once where nobody is left who was
promised anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.plan.operators import Gate
from penstock.qos.contracts.suspension import (
    GOAL,
    NOBODY,
    Suspended,
    SuspensionPlan,
    least_load,
    suspended,
)
from penstock.qos.load.estimates import busiest
from penstock.qos.load.load import Outlook, load_of
from penstock.qos.load.network import HERE, Network
from penstock.qos.shedding.allocation import Limit
from penstock.runtime.quality.run_lengths import KNOWN_RUNS, RUNS, latencies, promised
from penstock.runtime.quality.statistics import Statistics, queue_of
from penstock.runtime.quality.suspension_candidates import Gone, SuspensionCandidates, candidates_of
from penstock.runtime.topology.topology import Topology

LONG_SECONDS = 8.0  # behind a promise, before anybody goes
DRAIN_SECONDS = 10.0  # in which those who stay shall be done with what waits
BUSY = 0.5  # of a slot: where less is needed and tuples wait, it is not the load that they wait for


@dataclass(frozen=True, slots=True)
class Seen:
    """What is seen at a moment: the network at the rates of now, and the rates of about a window.

    `rates` are those of all streams, also of those without readers.
    """

    network: Network
    rates: Mapping[str, float]
    limits: Mapping[str, Limit]
    outlook: Outlook


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
    """Decides; the supervisor, while quiesced, does it and says so."""

    topology: Topology
    statistics: Statistics
    orders: Orders = field(default_factory=Orders)
    state: Suspended = NOBODY
    _behind_since: float | None = None
    _gone: dict[str, Gone] = field(default_factory=dict)

    @property
    def is_needed(self) -> bool:
        """Say whether there is anybody to suspend for, or to call back."""
        return bool(self.topology.suspended or promised(self.topology))

    def decide(self, seen: Seen, now: float) -> None:
        """Order who goes and who comes back."""
        self._reconcile(now)
        behind = self._long(behind_by(self.topology, self.statistics, seen, now), now)
        if not (behind or self._gone):
            self.state, self.orders = NOBODY, Orders()
            return
        candidates = candidates_of(self.topology, seen.network, seen.limits)
        candidates = candidates.with_gone(self._gone, _wanted(seen, behind))
        if not (promised(self.topology) or _are_asking(self.topology)):
            self.state = NOBODY
        elif behind or self._has_room(candidates):
            spare = _heaviest(self.topology, candidates) | (
                candidates.network.roots.keys() - candidates.queries
            )
            self.state = suspended(
                self.state, candidates.network, candidates.limits, now, spare=frozenset(spare)
            )
        else:
            self.state = Suspended(self.state.queries)
        self._order(candidates)

    def _long(self, behind: float, now: float) -> float:
        """Return by how much a promise is behind, 0 until it has been for long enough.

        Gates need a while, and so does a virtual machine that compiles what it had little of.
        """
        self._behind_since = (self._behind_since or now) if behind else None
        patient = self._behind_since is None or now - self._behind_since < LONG_SECONDS
        return 0.0 if patient else behind

    def done(self) -> None:
        """Note that what was ordered has been done."""
        self.orders = Orders()

    def _order(self, candidates: SuspensionCandidates) -> None:
        new = [name for name in self.state.queries if name not in self._gone]
        back = [name for name in self._gone if name not in self.state.queries]
        whys = {each: self.state.queries[n].text() for n in new for each in candidates.queries[n]}
        self.orders = Orders(whys, frozenset(q for n in back for q in self._gone[n].queries))
        self._gone |= {name: candidates.went(name) for name in new}
        for name in back:
            del self._gone[name]

    def _has_room(self, candidates: SuspensionCandidates) -> bool:
        running = candidates.network.without(frozenset(self.state.queries))
        return least_load(running, candidates.limits) <= GOAL

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
        unknown = SuspensionPlan(now, 0.0, GOAL)
        queries = {name: self.state.queries.get(name, unknown) for name in self._gone}
        self.state = replace(self.state, queries=queries)


def behind_by(topology: Topology, statistics: Statistics, seen: Seen, now: float) -> float:
    """Return how many seconds what waits is behind a promise by the load, 0 where it is not."""
    limits = latencies(topology)
    queues = {name: queue_of(topology, topology.units[name], now) for name in limits}
    waits = RUNS * seen.outlook.wait > min(limits.values(), default=0.0)
    late = [each.age for name, each in queues.items() if each.age > limits[name]]
    if not limits or not (late or waits) or not _is_known(topology, statistics, limits):
        return 0.0
    needed = max(load_of(seen.network)[HERE], busiest(seen.network))
    return max([seen.outlook.wait, *late]) if needed > BUSY else 0.0


def _is_known(topology: Topology, statistics: Statistics, units: Mapping[str, float]) -> bool:
    """Say whether all units have run often enough to know what they need."""
    dear = (name for name in units if not isinstance(topology.units[name].unit.root, Gate))
    records = statistics.records
    return all(name in records and records[name].ever >= KNOWN_RUNS for name in dear)


def _wanted(seen: Seen, behind: float) -> dict[str, float]:
    """Return the rates to decide by: what waits has to be done, too, where a promise breaks.

    Costs are too high while few runs told them: nobody goes for more than twice what can be done,
    and who still has to shows in the next seconds.
    """
    if not behind:
        return dict(seen.rates)
    load = max(load_of(seen.network)[HERE], 1e-9)
    more = (1 + min(1.0, behind / DRAIN_SECONDS)) / load
    return {name: rate * more for name, rate in {**seen.rates, **seen.network.rates}.items()}


def _heaviest(topology: Topology, candidates: SuspensionCandidates) -> set[str]:
    """Return who stays whatever happens: the heaviest, rather one who was promised something."""
    asking = {query.name.lower() for query, _ in promised(topology)}

    def weight(name: str) -> tuple[float, bool]:
        return candidates.limits[name].weight, bool(asking & set(candidates.queries[name]))

    return {max(candidates.queries, key=weight)} if candidates.queries else set()


def _are_asking(topology: Topology) -> bool:
    """Say whether a suspended query was promised a latency."""
    goals = (query.definition.goals for query in topology.suspended.values())
    return any(each.max_latency is not None for each in goals)
