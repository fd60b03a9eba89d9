"""Simulation: a processor on a virtual clock that a strategy drives, as it drives the real one.

Trains come, units take them in runs, what comes out waits for the units above or is a result. A run
of n tuples takes n times the declared cost; selectivities are means, so nothing is left to chance.
"""

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from penstock.plan.operators import key
from penstock.schedule.costs.flow import flow_of
from penstock.schedule.costs.observation import Observation
from penstock.schedule.costs.shape import GraphShape, UnitShape, parts_of, shape_of
from penstock.schedule.costs.work import work_of
from penstock.schedule.strategy import (
    Discarding,
    Interrupting,
    ReadyUnit,
    RunningUnit,
    Strategy,
)
from penstock.sim.machine import Machine
from penstock.sim.outcome import Outcome, Tally
from penstock.sim.queues import HeldTrain, SimulatedQueue, SimulatedRun, SimulatedTrain
from penstock.sim.workloads.arrivals import Arrival, mean_rate, rows_of
from penstock.sim.workloads.workload import Workload

MOMENT = 1e-9  # seconds: what is closer to the end is at the end


def simulate(
    workload: Workload,
    strategy: Strategy,
    machine: Machine | None = None,
    believed: Observation | None = None,
) -> Outcome:
    """Return what a workload comes to under a strategy, which decides by what it believes.

    Without `believed` it knows the truth.
    """
    strategy.observe(workload.measured() if believed is None else believed)
    return Simulation(workload, strategy, machine or Machine()).run()


@dataclass(slots=True)
class SimulatedSlot:
    """One place where a unit runs; `ends` is infinite while it is free."""

    unit: str = ""
    run: SimulatedRun | None = None
    ends: float = math.inf


class Simulation:
    """One run from the first arrival until everything is done."""

    def __init__(self, workload: Workload, strategy: Strategy, machine: Machine) -> None:
        """Cut the graph and lay out the queues."""
        self._workload, self._strategy, self._machine = workload, strategy, machine
        graph, truth = workload.graph, workload.truth
        units = strategy.cut(graph, ())
        parts = parts_of(units)
        self._flow = flow_of(shape_of(graph), truth)
        work = work_of(self._flow, parts, truth)
        gap = _mean_gap(workload)
        self._queues = {
            part.key: SimulatedQueue(
                part.key,
                {leaf: work.crossings[part.key, leaf] for leaf in part.leaves},
                machine.batching,
                gap,
            )
            for part in parts
        }
        self._ways = {
            (part.key, leaf): _ways(part, leaf, self._flow.shape)
            for part in parts
            for leaf in part.leaves
        }
        self._readers: dict[str, list[SimulatedQueue]] = {}
        for part in parts:
            for leaf in part.leaves:
                self._readers.setdefault(leaf, []).append(self._queues[part.key])
        self._roots: dict[str, list[str]] = {}
        for name, root in graph.queries.items():
            self._roots.setdefault(key(root), []).append(name)
        self._interrupting = strategy if isinstance(strategy, Interrupting) else None
        self._discarding = strategy if isinstance(strategy, Discarding) else None
        self._ready: dict[str, SimulatedQueue] = {}
        self._list: list[ReadyUnit] | None = None  # of the ready units, until they change
        self._slots = [SimulatedSlot() for _ in range(machine.slots)]
        self._tally = Tally()
        self._now = self._bytes = self._tuples = 0.0
        self._deadlines, self._queued = 0.0, 0  # for the mean laxity of what waits

    def run(self) -> Outcome:
        """Go from event to event until none is left."""
        arrivals = _merged(self._workload)
        upcoming = next(arrivals, None)
        alarm = math.inf
        while True:
            self._discard()
            self._fill()
            alarm = self._alarm()
            ends = min(slot.ends for slot in self._slots)
            arrives = upcoming[0] if upcoming else math.inf
            at = min(ends, arrives, alarm)
            if at == math.inf or at > self._machine.until:
                break
            self._advance(at)
            if ends <= at:
                self._settle(at)
            while upcoming and upcoming[0] <= at:
                self._arrive(upcoming[2], upcoming[3])
                upcoming = next(arrivals, None)
            self._interrupt()
            self._trace()
        return self._tally.outcome(self._expected(), self._weights(), self._now)

    def _alarm(self) -> float:
        if not self._machine.preemptive or self._discarding is None or not self._ready:
            return math.inf
        return self._discarding.alarm(self._listed(), self._now)

    def _advance(self, at: float) -> None:
        self._tally.byte_seconds += self._bytes * (at - self._now)
        self._now = at

    def _arrive(self, stream: str, arrival: Arrival) -> None:
        deadline = arrival.first + self._workload.validity_of(stream)
        rows, middle = float(arrival.rows), (arrival.first + arrival.last) / 2
        self._roots_of(stream, rows, middle, deadline)
        self._put(stream, rows, (rows, arrival.first, arrival.last, middle, deadline))

    def _put(self, leaf: str, rows: float, about: tuple[float, float, float, float, float]) -> None:
        """Put tuples where every reader of a buffer finds them."""
        readers = self._readers.get(leaf)
        if not readers:
            return
        tuples, first, last, arrived, deadline = about
        held = HeldTrain(rows * self._flow.tuple_bytes[leaf], len(readers))
        self._bytes += held.size
        self._tally.peak_bytes = max(self._tally.peak_bytes, self._bytes)
        train = SimulatedTrain(rows, first, last, tuples, arrived, deadline, leaf, held)
        for queue in readers:
            queue.put(train)
            self._list = None
            self._count(train, 1)
            if not any(slot.unit == queue.key and slot.run for slot in self._slots):
                self._ready[queue.key] = queue

    def _count(self, train: SimulatedTrain, sign: int) -> None:
        self._tuples += sign * train.tuples
        if train.deadline < math.inf:
            self._deadlines += sign * train.deadline
            self._queued += sign

    def _release(self, trains: list[SimulatedTrain]) -> None:
        for train in trains:
            self._count(train, -1)
            train.held.readers -= 1
            if train.held.readers == 0:
                self._bytes -= train.held.size

    def _trace(self) -> None:
        if self._machine.traced:
            self._tally.trace.append((self._now, self._bytes, self._tuples))

    def _laxity(self) -> float:
        return self._deadlines / self._queued - self._now if self._queued else math.inf

    def _listed(self) -> list[ReadyUnit]:
        if self._list is None:
            laxity = self._laxity()
            self._list = [queue.next_run(laxity).ready for queue in self._ready.values()]
        return self._list

    def _discard(self) -> None:
        strategy = self._discarding
        if not self._machine.may_discard or strategy is None:
            return
        while self._ready and (hopeless := strategy.hopeless(self._listed(), self._now)):
            for name in hopeless:
                queue = self._queues[name]
                dropped, self._list = queue.drop(), None
                self._tally.discarded += sum(train.tuples for train in dropped)
                self._release(dropped)
                if not queue:
                    del self._ready[name]

    def _fill(self) -> None:
        """Fill the free slots as the strategy decides."""
        for slot in self._slots:
            if slot.run is not None or not self._ready:
                continue
            chosen = self._strategy.next(self._listed(), self._now)
            if chosen is not None:
                self._start(slot, chosen, self._decide())

    def _decide(self) -> float:
        """Return what a decision costs."""
        self._tally.decisions += 1
        machine = self._machine
        return machine.decision_seconds + machine.ready_seconds * len(self._ready)

    def _start(self, slot: SimulatedSlot, chosen: str, overhead: float) -> None:
        queue, self._list = self._ready.pop(chosen), None
        run = queue.take(self._laxity())
        if slot.unit != chosen:
            self._tally.switches += 1
            overhead += self._machine.switch_seconds
        self._tally.overhead_seconds += overhead
        slot.unit, slot.run, slot.ends = chosen, run, self._now + overhead + run.remaining

    def _settle(self, at: float) -> None:
        for slot in self._slots:
            if slot.run is not None and slot.ends <= at:
                run, slot.run, slot.ends = slot.run, None, math.inf
                self._tally.busy_seconds += run.seconds
                self._tally.runs += 1
                self._tally.rows += sum(train.rows for train in run.trains)
                self._finish(slot.unit, run)

    def _finish(self, unit: str, run: SimulatedRun) -> None:
        queue = self._queues[unit]
        if queue:
            self._ready[unit], self._list = queue, None
        self._release(run.trains)
        for train in run.trains:
            rows = train.rows * queue.crossings[train.leaf].selectivity
            tuples = train.tuples * self._ways[unit, train.leaf]
            self._roots_of(unit, tuples, train.arrived, train.deadline)
            about = (tuples, train.first, train.last, train.arrived, train.deadline)
            self._put(unit, rows, about)  # none of the rows may be left: the tuples still count

    def _roots_of(self, node: str, tuples: float, arrived: float, deadline: float) -> None:
        for query in self._roots.get(node, ()):
            self._tally.deliver(
                query, tuples, self._now - arrived, in_time=self._now <= deadline + MOMENT
            )

    def _interrupt(self) -> None:
        """Ask whether the units at work should give way to others."""
        strategy = self._interrupting
        if not self._machine.preemptive or strategy is None:
            return
        for slot in self._slots:
            if slot.run is None or not self._ready:
                continue
            left = max(0.0, min(slot.ends - self._now, slot.run.remaining))
            running = RunningUnit(slot.run.ready, left)
            chosen = strategy.interrupt(running, self._listed(), self._now)
            overhead = self._decide()
            if chosen is None or left <= MOMENT:
                slot.ends += overhead
                self._tally.overhead_seconds += overhead
                continue
            queue = self._queues[slot.unit]
            queue.put_back(slot.run, left)
            self._ready[slot.unit], self._list = queue, None
            self._start(slot, chosen, overhead)

    def _expected(self) -> dict[str, float]:
        """Return how often each query is reached, if all tuples go all their ways to it."""
        many = {name: float(rows_of(each)) for name, each in self._workload.arrivals.items()}
        for unit, queue in self._queues.items():  # inputs first
            many[unit] = sum(
                many.get(leaf, 0.0) * self._ways[unit, leaf] for leaf in queue.crossings
            )
        graph = self._workload.graph
        return {query: many.get(key(root), 0.0) for query, root in graph.queries.items()}

    def _weights(self) -> dict[str, float]:
        truth = self._workload.truth
        return {name: truth.query(name).weight for name in self._workload.graph.queries}


def _ways(part: UnitShape, leaf: str, shape: GraphShape) -> int:
    """Return on how many paths a leaf's tuple crosses a unit: what a join reads twice is two."""
    found = {leaf: 1}
    for name in part.members:
        found[name] = sum(found.get(below, 0) for below in shape.inputs[name])
    return found.get(part.key, 1)


def _merged(workload: Workload) -> Iterator[tuple[float, int, str, Arrival]]:
    """Yield all arrivals in the order of their time."""
    order = count()
    lists = [
        [(arrival.last, next(order), name, arrival) for arrival in arrivals]
        for name, arrivals in workload.arrivals.items()
    ]
    return heapq.merge(*lists)


def _mean_gap(workload: Workload) -> float:
    """Return the mean time between two trains of a stream."""
    gaps = [
        rows_of(arrivals) / mean_rate(arrivals) / len(arrivals)
        for arrivals in workload.arrivals.values()
        if arrivals
    ]
    return sum(gaps) / len(gaps) if gaps else math.inf
