"""Foresight: EXPLAIN ESTIMATE, and whether a query may come in beside what others were promised."""

import math
from collections.abc import Collection, Iterable, Iterator

from penstock.plan.operators import key
from penstock.plan.units import Unit, cut_at_shared
from penstock.qos.admission import TAIL, Plan, Refused, admission
from penstock.qos.contracts import Contract
from penstock.qos.estimates import TrainSize, estimated
from penstock.qos.load import load_of
from penstock.qos.network import HERE, Network
from penstock.runtime.directory import KnownQuery
from penstock.runtime.explained import bound
from penstock.runtime.operators import state_bytes
from penstock.runtime.standing import standing_of
from penstock.runtime.system import System
from penstock.schedule.shape import shape_of
from penstock.sql import ExplainEstimate

MILLI, MEGA = 1000.0, 1e6


class Prospect:
    """The plan with a query, and under which name the query is in it; only at rest."""

    def __init__(self, system: System, known: KnownQuery | None = None) -> None:
        """Cut the graph as it would be; without a query, as it is."""
        self._system, self._now = system, system.clock.now()
        plant, supervisor = system.plant, system.supervisor
        graph = plant.graph
        if known is not None:
            graph = graph.with_query(known.definition.name.lower(), known.root)
        standing = standing_of(plant)
        shared = supervisor.shared(graph, standing)
        self._units = {unit.key: unit for unit in cut_at_shared(shared, standing.units)}
        self._roots = {name: key(root) for name, root in graph.queries.items()}
        self._known = known
        seen = supervisor.statistics.observation(plant, self._now)
        network = supervisor.quality.network_of(shape_of(shared), self._units, seen, self._now)
        trains = {name: self._train(name) for name in network.rates}
        self.plan = Plan(network, trains, float(sum(map(state_bytes, plant.units.values()))))

    @property
    def network(self) -> Network:
        """Return what would run."""
        return self.plan.network

    @property
    def measured(self) -> tuple[int, int]:
        """Return how many units have run, and how many there are."""
        records = self._system.supervisor.statistics.records
        return sum(name in records for name in self._units), len(self._units)

    def name_of(self, query: str) -> str:
        """Return the query's name in the network: its own, or that of its bundle."""
        root = self._roots[query]
        return next(
            (name for name, at in self.network.roots.items() if root in self._in(at)), query
        )

    def broken(self) -> set[str]:
        """Return the queries that are late as it is: nobody else is to blame for that."""
        latency = estimated(self.network, self.plan.trains).latency
        return {
            name
            for name, query in self._system.plant.queries.items()
            if TAIL * latency.get(self.name_of(name), 0.0)
            > Contract.of(query.definition.goals).max_latency
        }

    def contracts(self, but: Collection[str] = ()) -> dict[str, Contract]:
        """Return what was promised, by the names of the network: of a bundle, the hardest."""
        running = self._system.plant.queries.items()
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

    def _train(self, name: str) -> TrainSize:
        feed = self._system.plant.feeds.get(name)
        return TrainSize(max(1.0, feed.rows / feed.number) if feed and feed.number else 1.0)


def refuse_unless_room(system: System, known: KnownQuery) -> None:
    """Raise where a query would break what it or others were promised; only at rest.

    Where nobody was promised a latency, or nothing is known of rates, everybody may come in.
    """
    goals = [known.definition.goals, *(q.definition.goals for q in system.plant.queries.values())]
    if known.definition.forced or all(each.max_latency is None for each in goals):
        return
    before, after = Prospect(system), Prospect(system, known)
    if not any(after.network.rates.values()):
        return
    name, contracts = known.definition.name.lower(), after.contracts(but=before.broken())
    found = admission(after.name_of(name), before.plan, after.plan, contracts)
    if isinstance(found, Refused):
        raise found.error(known.definition.name)


def estimate_text(system: System, statement: ExplainEstimate) -> str:
    """Return what a query is foretold to cost, beside all that runs."""
    known = bound(system, statement.subject)
    name = known.definition.name.lower()
    with system.supervisor.resting():
        runs = name in system.plant.queries
        before, after = Prospect(system), Prospect(system, known)
        return "\n".join([f"query {name}", *_lines(system, name, before, after, runs=runs)])


def _lines(
    system: System, name: str, before: Prospect, after: Prospect, *, runs: bool
) -> Iterator[str]:
    at = after.name_of(name)
    found = estimated(after.network, after.plan.trains)
    with_it, without = load_of(after.network)[HERE], load_of(before.network)[HERE]
    promised = after.contracts()[at].max_latency
    limit = f"; max_latency {_seconds(promised)}" if math.isfinite(promised) else ""
    if runs:
        yield f"  load     {with_it:.3f} of each slot's time, with all that runs"
    else:
        yield f"  load     {without:.3f} of each slot's time without it, {with_it:.3f} with it"
    mean = found.latency[at]
    yield f"  latency  {_seconds(mean)} on average, p99 about {_seconds(TAIL * mean)}{limit}"
    states = _size(after.plan.state_bytes)
    yield f"  memory   {_size(found.memory_bytes)} in buffers, {states} in states"
    measured, units = after.measured
    yield f"  figures  {measured} of {units} units have run; the others are taken at the mean cost"
    meter = system.plant.queries[name].meter if runs else None
    if meter is not None and (median := meter.latency(0.5)) is not None:
        high = meter.latency(0.99) or 0.0
        yield f"  measured {_seconds(median)} at p50, {_seconds(high)} at p99"


def _hardest(contracts: Iterable[Contract]) -> Contract:
    found = list(contracts)
    if not found:
        return Contract()
    return Contract(
        min(each.max_latency for each in found),
        min(each.max_error for each in found),
        sum(each.weight for each in found),
    )


def _seconds(value: float) -> str:
    if math.isinf(value):
        return "for ever"
    return f"{value:.2f} s" if value >= 1 else f"{value * MILLI:.0f} ms"


def _size(value: float) -> str:
    return "unbounded" if math.isinf(value) else f"{value / MEGA:.2f} MB"
