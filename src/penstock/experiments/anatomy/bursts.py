"""Bursts: the workload by which strategies for latency and for memory are compared."""

import random

from penstock.plan.operators import Operator, key
from penstock.plan.operators.graph import Graph
from penstock.schedule.batching import FixedLength
from penstock.schedule.costs.observation import Observation, OperatorFigures
from penstock.sim.machine import Machine
from penstock.sim.workloads.arrivals import Arrival, bursty, trains
from penstock.sim.workloads.step import SimulatedOperator, stream
from penstock.sim.workloads.workload import Workload

PATHS = 8
RATE = 50.0
LOAD = 0.8  # on the whole; five times of it in a burst
TICK = 0.02
TUPLE_BYTES = 100.0
# ANA-08: leaf operators are quick and select most, the others of a plan are much slower.
LEAF = ((0.2, 1.0), (0.1, 0.6))
OTHER = ((1.0, 6.0), (0.3, 1.0))
MACHINE = Machine(
    switch_seconds=2e-5, decision_seconds=2e-5, batching=FixedLength(1e-9), preemptive=False
)


def bursts(seed: int, seconds: float) -> Workload:
    """Return lines of three to six operators, each over a stream that comes in bursts."""
    drawn = random.Random(seed)
    queries: dict[str, Operator] = {}
    figures: dict[str, OperatorFigures] = {}
    arrivals: dict[str, list[Arrival]] = {}
    for number in range(PATHS):
        node: Operator = stream(f"s{number}")
        figures[key(node)] = OperatorFigures.declared(0.0, 1.0, TUPLE_BYTES)
        arrivals[key(node)] = trains(bursty(RATE, seconds, seed * 100 + number), TICK)
        for place in range(drawn.randint(3, 6)):
            costs, kept = OTHER if place else LEAF
            node = SimulatedOperator(f"p{number}o{place}", (node,))
            figures[key(node)] = OperatorFigures.declared(
                drawn.uniform(*costs), drawn.uniform(*kept), TUPLE_BYTES
            )
        queries[f"q{number}"] = node
    drawn_load = Workload(Graph(queries), Observation(figures), arrivals, seconds=seconds)
    return drawn_load.at_load(LOAD)
