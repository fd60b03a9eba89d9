"""E5.8: who is brought up to date how often, where a sensor grid's queries are too many.

Each second brings a time-slice of the region, that every query works through in two to four
transformations. Nothing has a deadline; what is not done by the end was not done.
"""

import math
import random
from collections.abc import Mapping
from statistics import fmean

from penstock.plan.graph import Graph
from penstock.plan.operators import Operator, key
from penstock.schedule import make_strategy
from penstock.schedule.batching import FixedLength
from penstock.schedule.observation import Figures, Observation, QueryFigures
from penstock.sim.arrivals import Arrival
from penstock.sim.experiments.report import Claim, Report
from penstock.sim.experiments.trial import Effort
from penstock.sim.machine import Machine
from penstock.sim.simulation import simulate
from penstock.sim.step import Step, stream
from penstock.sim.workload import Workload

KINDS = {"alert": (10, 10), "user": (2, 5), "archive": (1, 1)}  # the thesis' weights
EACH = 6  # queries of each kind
LOAD = 2.0
STRATEGIES = ("round_robin", "basic", "optprofit")


def alerts(seed: int, effort: Effort) -> Report:
    """Count how often queries of each kind are brought up to date."""
    machine = Machine(batching=FixedLength(1e-9), until=effort.seconds)
    seeds = range(seed, seed + effort.trials)
    loads = [_workload(each, math.ceil(effort.seconds) + 1) for each in seeds]
    rows: list[tuple[str | float, ...]] = []
    sums: dict[str, float] = {}
    favour: dict[str, float] = {}
    for name in STRATEGIES:
        found = [simulate(each, make_strategy(name), machine).delivered for each in loads]
        rates = {
            kind: fmean(_rate(each, kind) / effort.seconds for each in found) for kind in KINDS
        }
        sums[name] = fmean(
            sum(load.truth.query(query).weight * count for query, count in each.items())
            / effort.seconds
            for load, each in zip(loads, found, strict=True)
        )
        rows.append((name, *rates.values(), sums[name]))
        favour[name] = rates["alert"] / rates["archive"] if rates["archive"] else math.inf
    return Report(
        "E5.8: updates of sensor grid queries",
        f"Updates a second of a query by kind, at load {LOAD:g}, and their weighted sum",
        ("strategy", *KINDS, "weighted sum"),
        tuple(rows),
        (
            Claim("round robin brings all up to date equally often", favour["round_robin"] < 1.2),  # noqa: PLR2004
            Claim("Basic favours alerts", favour["basic"] > favour["round_robin"]),
            Claim("OptProfit favours them more", favour["optprofit"] >= favour["basic"]),
            Claim(
                "the weighted sum is highest for OptProfit", sums["optprofit"] >= max(sums.values())
            ),
        ),
    )


def _rate(delivered: Mapping[str, float], kind: str) -> float:
    return sum(count for name, count in delivered.items() if name.startswith(kind)) / EACH


def _workload(seed: int, slices: int) -> Workload:
    drawn = random.Random(seed)
    region = stream("region")
    cleaned = Step("clean", (region,))
    queries: dict[str, Operator] = {}
    goals: dict[str, QueryFigures] = {}
    for number in range(EACH * len(KINDS)):
        kind, weights = list(KINDS.items())[number % len(KINDS)]
        node: Operator = cleaned
        for place in range(drawn.randint(1, 3)):
            node = Step(f"q{number}o{place}", (node,))
        queries[f"{kind}{number}"] = node
        goals[f"{kind}{number}"] = QueryFigures(drawn.randint(*weights))
    graph = Graph(queries)
    figures = {name: Figures.declared(drawn.uniform(1, 5)) for name in graph.nodes()}
    figures[key(region)] = Figures.declared(0.0)
    arrivals = {key(region): [Arrival(1, float(n), float(n)) for n in range(slices)]}
    drawn_load = Workload(graph, Observation(figures, {}, goals), arrivals)
    return drawn_load.at_load(LOAD)
