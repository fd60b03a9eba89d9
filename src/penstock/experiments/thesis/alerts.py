"""E5.8: who is brought up to date how often, where a sensor grid's queries are too many.

Each second brings a time-slice of the region, that every query works through in two to four
transformations. Nothing has a deadline; what is not done by the end was not done.
"""

import math
import random
from collections.abc import Mapping
from statistics import fmean

from penstock.experiments.trial import Effort
from penstock.plan.operators import Operator, key
from penstock.plan.operators.graph import Graph
from penstock.schedule import make_strategy
from penstock.schedule.batching import FixedLength
from penstock.schedule.costs.observation import Observation, OperatorFigures, QueryFigures
from penstock.sim.machine import Machine
from penstock.sim.report import Claim, Report
from penstock.sim.simulation import simulate
from penstock.sim.workloads.arrivals import Arrival
from penstock.sim.workloads.step import SimulatedOperator, stream
from penstock.sim.workloads.workload import Workload

KINDS = {"alert": (10, 10), "user": (2, 5), "archive": (1, 1)}  # the thesis' weights
EACH = 6  # queries of each kind
LOADS = (1.5, 2.0, 4.0)  # at the last, alerts alone are more than the processor can do
EQUAL = 0.05
STRATEGIES = ("round_robin", "basic", "optprofit")


def alerts(seed: int, effort: Effort) -> Report:
    """Count how often queries of each kind are brought up to date."""
    found = {
        (load, name): _point(load, name, seed, effort) for load in LOADS for name in STRATEGIES
    }
    share = {point: rates[0] / sum(rates[:-1]) for point, rates in found.items()}
    return Report(
        "E5.8: updates of sensor grid queries",
        "Updates a second of a query by kind, and their weighted sum; the thesis states no load",
        ("load", "strategy", *KINDS, "weighted sum"),
        tuple((load, name, *rates) for (load, name), rates in found.items()),
        (
            Claim(
                "round robin brings all up to date equally often",
                all(abs(share[load, "round_robin"] - 1 / len(KINDS)) < EQUAL for load in LOADS),
            ),
            Claim(
                "Basic favours alerts",
                all(share[load, "basic"] > share[load, "round_robin"] for load in LOADS),
            ),
            Claim(
                "OptProfit gives alerts a larger share of updates than Basic",
                all(share[load, "optprofit"] > share[load, "basic"] for load in LOADS),
            ),
            Claim(
                "the weighted sum is highest for OptProfit",
                all(
                    found[load, "optprofit"][-1] >= found[load, name][-1]
                    for load in LOADS
                    for name in STRATEGIES
                ),
            ),
        ),
    )


def _point(load: float, name: str, seed: int, effort: Effort) -> tuple[float, ...]:
    """Return the updates a second by kind, and their weighted sum."""
    machine = Machine(batching=FixedLength(1e-9), until=effort.seconds)
    sums: list[tuple[float, ...]] = []
    for each in range(seed, seed + effort.trials):
        workload = _workload(each, load, math.ceil(effort.seconds) + 1)
        done = simulate(workload, make_strategy(name), machine).delivered
        weighted = sum(workload.truth.query(query).weight * count for query, count in done.items())
        sums.append((*(_rate(done, kind) for kind in KINDS), weighted))
    return tuple(fmean(column) / effort.seconds for column in zip(*sums, strict=True))


def _rate(delivered: Mapping[str, float], kind: str) -> float:
    return sum(count for name, count in delivered.items() if name.startswith(kind)) / EACH


def _workload(seed: int, load: float, slices: int) -> Workload:
    drawn = random.Random(seed)
    region = stream("region")
    cleaned = SimulatedOperator("clean", (region,))
    queries: dict[str, Operator] = {}
    goals: dict[str, QueryFigures] = {}
    for number in range(EACH * len(KINDS)):
        kind, weights = list(KINDS.items())[number % len(KINDS)]
        node: Operator = cleaned
        for place in range(drawn.randint(1, 3)):
            node = SimulatedOperator(f"q{number}o{place}", (node,))
        queries[f"{kind}{number}"] = node
        goals[f"{kind}{number}"] = QueryFigures(drawn.randint(*weights))
    graph = Graph(queries)
    figures = {name: OperatorFigures.declared(drawn.uniform(1, 5)) for name in graph.nodes()}
    figures[key(region)] = OperatorFigures.declared(0.0)
    arrivals = {key(region): [Arrival(1, float(n), float(n)) for n in range(slices)]}
    drawn_load = Workload(graph, Observation(figures, {}, goals), arrivals)
    return drawn_load.at_load(load)
