"""Anatomy Q5: what becomes of segments where costs and selectivities are not what they seem."""

import random
from dataclasses import replace
from statistics import fmean

from penstock.experiments.anatomy.bursts import MACHINE, bursts
from penstock.experiments.trial import Effort
from penstock.schedule import make_strategy
from penstock.schedule.costs.observation import Average, Observation
from penstock.sim.report import Claim, Report
from penstock.sim.simulation import simulate
from penstock.sim.workloads.workload import Workload

ERRORS = (0.0, 0.25, 0.5, 1.0)
STRATEGIES = ("chain", "segment", "simplified_segment", "pcs")


def wrong_figures(seed: int, effort: Effort) -> Report:
    """Tell strategies figures that are wrong by a factor of up to one plus the error."""
    loads = [bursts(each, effort.seconds) for each in range(seed, seed + effort.trials)]
    found = {
        name: [
            fmean(
                simulate(each, make_strategy(name), MACHINE, misread(each, error, seed)).mean_bytes
                for each in loads
            )
            for error in ERRORS
        ]
        for name in STRATEGIES
    }
    rise = {name: max(each) / each[0] - 1 for name, each in found.items()}
    return Report(
        "Anatomy Q5: segments by wrong figures",
        "Mean bytes in queues by the error of costs and selectivities",
        ("error", *found),
        tuple((error, *(each[n] for each in found.values())) for n, error in enumerate(ERRORS)),
        (
            Claim(
                "simplified segments suffer less from errors than segments",
                rise["simplified_segment"] <= rise["segment"],
            ),
            Claim("and less than Chain", rise["simplified_segment"] <= rise["chain"]),
        ),
    )


def misread(workload: Workload, error: float, seed: int) -> Observation:
    """Return what would be observed by instruments that are wrong."""
    drawn = random.Random(seed)

    def wrong(average: Average) -> Average:
        return Average.known(average.value * (1 + error) ** drawn.uniform(-1, 1))

    seen = workload.measured()
    return replace(
        seen,
        operators={
            name: replace(each, seconds=wrong(each.seconds), selectivity=wrong(each.selectivity))
            for name, each in seen.operators.items()
        },
    )
