"""Contracted: a simulation whose queries have contracts, under a policy that may shed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.qos.load.moment import LoadSample, Measures
from penstock.qos.load.network import Edge
from penstock.qos.load.tuning import LOOK_SECONDS
from penstock.schedule.batching import FixedLength
from penstock.schedule.strategy import Strategy
from penstock.sim.machine import Machine
from penstock.sim.outcome import Outcome
from penstock.sim.policies import Policy
from penstock.sim.queues import HeldTrain, SimulatedQueue, SimulatedRun, SimulatedTrain
from penstock.sim.simulation import Simulation
from penstock.sim.workloads.arrivals import Arrival
from penstock.sim.workloads.scene import ContractScene

GRACE_SECONDS = 15.0  # in which what came last may be late
RUN_ROWS = 300.0  # a long run would hold up those who are in a hurry: it cannot be stopped

About = tuple[float, float, float, float, float]


@dataclass(frozen=True, slots=True)
class KeptTrain(SimulatedTrain):
    """A train of which gates have kept a share; `tuples` and `rows` are those that were kept.

    `own` is what the last of these gates kept.
    """

    keep: float = 1.0
    own: float = 1.0

    def thinned(self, own: float) -> "KeptTrain":
        """Return it as if the last gate had kept less."""
        share = own / self.own
        rows, tuples = self.rows * share, self.tuples * share
        return replace(self, rows=rows, tuples=tuples, keep=self.keep * share, own=own)


@dataclass(slots=True)
class DeliveredTrains:
    """What a query got: by train, when it came, how long it took, how many, of which share."""

    arrived: list[float] = field(default_factory=list)
    latency: list[float] = field(default_factory=list)
    tuples: list[float] = field(default_factory=list)
    keep: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Story:
    """What a run came to: its outcome, what each query got, and what was done when."""

    outcome: Outcome
    delivered: Mapping[str, DeliveredTrains]
    measures: tuple[tuple[float, LoadSample, Measures], ...]


def simulate_contracts(
    scene: ContractScene, policy: Policy, strategy: Strategy, machine: Machine | None = None
) -> Story:
    """Return what a scene comes to under a policy, from its beginning until all could be done."""
    strategy.observe(scene.workload.measured())
    machine = machine or Machine(
        until=scene.seconds + GRACE_SECONDS, batching=FixedLength(RUN_ROWS)
    )
    simulation = Contracted(scene.workload, strategy, machine)
    simulation.attach(scene, policy)
    outcome = simulation.run()
    return Story(outcome, simulation.delivered, tuple(simulation.told))


class Contracted(Simulation):
    """As a simulation, with gates on edges and a policy that is asked at a steady pace.

    A tuple's deadline in a unit is the tightest of the contracts that wait for it (ANA-11).
    """

    def attach(self, scene: ContractScene, policy: Policy) -> None:
        """Take who decides, and about what."""
        network = scene.network
        self._network, self._policy = network, policy
        self._end = scene.seconds + GRACE_SECONDS
        self._patience = {
            name: min(scene.contracts[query].max_latency for query in network.queries_above[name])
            for name in network.nodes
        }
        self._measures, self._next_decision = Measures(), LOOK_SECONDS
        self._came = dict.fromkeys(network.rates, 0.0)
        self._keep = 1.0  # of the train that is being put or delivered
        self.delivered: dict[str, DeliveredTrains] = {
            name: DeliveredTrains() for name in network.roots
        }
        self.told: list[tuple[float, LoadSample, Measures]] = []

    def _alarm(self) -> float:
        if self._next_decision <= self._now:
            self._decide_measures()
        return min(super()._alarm(), self._next_decision)

    def _decide_measures(self) -> None:
        seen = LoadSample(
            {name: rows / LOOK_SECONDS for name, rows in self._came.items()},
            self._waiting(),
            {
                name: self._now - min(train.first for train in queue.waiting)
                for name, queue in self._queues.items()
                if queue.waiting
            },
        )
        self._measures = self._policy.decide(seen, self._now)
        self.told.append((self._now, seen, self._measures))
        for name, queue in self._queues.items():
            if not self._network.queries_above[name] - self._measures.suspended:
                self._let_go(queue)
            else:
                self._thin(queue)
        self._came = dict.fromkeys(self._came, 0.0)
        self._next_decision = self._now + LOOK_SECONDS
        if self._next_decision > self._end:
            self._next_decision = math.inf

    def _let_go(self, queue: SimulatedQueue) -> None:
        """Forget what waits for queries that are suspended, all of them."""
        self._release(queue.clear())
        self._ready.pop(queue.key, None)
        self._list = None

    def _thin(self, queue: SimulatedQueue) -> None:
        """Apply lower gates to what already waits before them, too."""
        for place, train in enumerate(queue.waiting):
            own = self._measures.keeps.get((train.leaf, queue.key), 1.0)
            if isinstance(train, KeptTrain) and own < train.own:
                less = train.thinned(own)
                self._count(train, -1)
                self._count(less, 1)
                queue.change(place, less)
                self._list = None

    def _waiting(self) -> dict[Edge, float]:
        found: dict[Edge, float] = {}
        for name, queue in self._queues.items():
            for train in queue.waiting:
                found[train.leaf, name] = found.get((train.leaf, name), 0.0) + train.rows
        for slot in self._slots:
            if slot.run is not None and slot.run.seconds > 0:
                left = max(0.0, slot.ends - self._now) / slot.run.seconds
                for train in slot.run.trains:
                    edge = (train.leaf, slot.unit)
                    found[edge] = found.get(edge, 0.0) + train.rows * min(1.0, left)
        return found

    def _arrive(self, stream: str, arrival: Arrival) -> None:
        self._came[stream] = self._came.get(stream, 0.0) + arrival.rows
        self._keep = 1.0
        super()._arrive(stream, arrival)

    def _put(self, leaf: str, rows: float, about: About) -> None:
        readers = [
            queue
            for queue in self._readers.get(leaf, ())
            if self._network.queries_above[queue.key] - self._measures.suspended
        ]
        if not readers:
            return
        tuples, first, last, arrived, _ = about
        held = HeldTrain(rows * self._flow.tuple_bytes[leaf], len(readers))
        self._bytes += held.size
        self._tally.peak_bytes = max(self._tally.peak_bytes, self._bytes)
        for queue in readers:
            keep = self._measures.keeps.get((leaf, queue.key), 1.0)
            train = KeptTrain(
                rows * keep,
                first,
                last,
                tuples * keep,
                arrived,
                first + self._patience[queue.key],
                leaf,
                held,
                self._keep * keep,
                keep,
            )
            queue.put(train)
            self._list = None
            self._count(train, 1)
            if not any(slot.unit == queue.key and slot.run for slot in self._slots):
                self._ready[queue.key] = queue

    def _finish(self, unit: str, run: SimulatedRun) -> None:
        trains = run.trains
        for train in trains:
            self._keep = train.keep if isinstance(train, KeptTrain) else 1.0
            super()._finish(unit, SimulatedRun([train], run.seconds, run.remaining, run.ready))

    def _roots_of(self, node: str, tuples: float, arrived: float, deadline: float) -> None:
        super()._roots_of(node, tuples, arrived, deadline)
        for query in self._roots.get(node, ()):
            if query not in self._measures.suspended:
                mine = self.delivered[query]
                mine.arrived.append(arrived)
                mine.latency.append(self._now - arrived)
                mine.tuples.append(tuples)
                mine.keep.append(self._keep)
