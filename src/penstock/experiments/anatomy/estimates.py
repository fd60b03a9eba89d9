"""Estimates: mean latency and memory as they are foretold, and as they turn out."""

from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from penstock.experiments.trial import Effort
from penstock.plan.sharing.units import cut_at_shared
from penstock.qos.contracts.contracts import Contract
from penstock.qos.load.estimates import TAIL, TrainSize, estimated
from penstock.qos.load.network import network_of
from penstock.schedule import make_strategy
from penstock.schedule.costs.flow import flow_of
from penstock.schedule.costs.shape import parts_of, shape_of
from penstock.schedule.costs.work import work_of
from penstock.sim.contract_simulation import simulate_contracts
from penstock.sim.machine import Machine
from penstock.sim.policies import Nothing
from penstock.sim.report import Claim, Report
from penstock.sim.workloads.arrivals import poisson, rows_of
from penstock.sim.workloads.random_queries import QuerySet
from penstock.sim.workloads.scene import ContractScene

LOADS = (0.1, 0.3, 0.5, 0.7, 0.85, 0.95)
SETUPS = (0.0, 0.002, 0.01)  # seconds of a run, whatever it takes
RATE, TICK = 20.0, 0.05
QUERIES = QuerySet(queries=(4, 6), operators=(8, 14))
CLOSE, FAIR = 0.25, 0.5
USUAL = 0.7  # a load: near 1 a small error of the load is a large one of the latency


@dataclass(frozen=True, slots=True)
class EstimateErrors:
    """Relative errors of latency and memory, and how far p99 is from the mean."""

    latency: float
    memory: float
    tail: float


def estimates(seed: int, effort: Effort) -> Report:
    """Compare estimates with simulations of random queries under round robin, on one slot."""
    found = {(load, setup): _point(load, setup, seed, effort) for load in LOADS for setup in SETUPS}
    rows = tuple(
        (
            load,
            *(found[load, setup].latency for setup in SETUPS),
            *(found[load, setup].memory for setup in SETUPS),
            max(found[load, setup].tail for setup in SETUPS),
        )
        for load in LOADS
    )
    usual = [each for (load, _), each in found.items() if load <= USUAL]
    return Report(
        "Estimates against simulations",
        "Relative error of mean latency and memory by load and set-up, and p99 over the mean",
        (
            "load",
            *(f"latency, set-up {1000 * setup:g} ms" for setup in SETUPS),
            *(f"memory, set-up {1000 * setup:g} ms" for setup in SETUPS),
            "p99 / mean",
        ),
        rows,
        (
            Claim(
                f"mean latency is within {CLOSE:.0%} on average up to a load of {USUAL:g}",
                fmean(each.latency for each in usual) <= CLOSE,
            ),
            Claim(
                f"no mean latency is off by more than {FAIR:.0%}",
                all(each.latency <= FAIR for each in found.values()),
            ),
            Claim(
                f"p99 is within {TAIL:g} times the mean",
                all(each.tail <= TAIL for each in found.values()),
            ),
        ),
    )


def _point(load: float, setup: float, seed: int, effort: Effort) -> EstimateErrors:
    each = [
        _trial(load, setup, one, 3 * effort.seconds) for one in range(seed, seed + effort.trials)
    ]
    return EstimateErrors(
        fmean(one.latency for one in each),
        fmean(one.memory for one in each),
        fmean(one.tail for one in each),
    )


def _trial(load: float, setup: float, seed: int, seconds: float) -> EstimateErrors:
    scene, trains = _scene(load, seed, seconds)
    network = replace(scene.network, run_seconds=setup)
    told = estimated(network, trains)
    machine = Machine(decision_seconds=setup)
    story = simulate_contracts(scene, Nothing(), make_strategy("round_robin"), machine)
    off, tails = [], []
    for query, got in story.delivered.items():
        latency, tuples = np.array(got.latency), np.array(got.tuples)
        if len(latency):
            mean = float(np.average(latency, weights=tuples))
            off.append(abs(told.latency[query] - mean) / mean)
            tails.append(float(np.quantile(latency, 0.99)) / mean)
    memory = story.outcome.mean_bytes * story.outcome.seconds / seconds
    return EstimateErrors(
        fmean(off) if off else 0.0,
        abs(told.memory_bytes - memory) / memory if memory else 0.0,
        fmean(tails) if tails else 0.0,
    )


def _scene(load: float, seed: int, seconds: float) -> tuple[ContractScene, dict[str, TrainSize]]:
    drawn = QUERIES.draw(seed, lambda n: poisson(RATE, seconds, seed * 100 + n), tick=TICK)
    workload = replace(drawn, seconds=seconds).at_load(load)
    seen = workload.measured()
    units = parts_of(cut_at_shared(workload.graph))
    network = network_of(work_of(flow_of(shape_of(workload.graph), seen), units, seen))
    trains = {
        name: TrainSize(
            rows_of(arrivals) / max(1, len(arrivals)),
            sum(each.rows * (each.last - each.first) for each in arrivals)
            / max(1, rows_of(arrivals)),
        )
        for name, arrivals in workload.arrivals.items()
    }
    contracts = dict.fromkeys(workload.graph.queries, Contract())
    return ContractScene(workload, network, contracts, {}, seconds), trains
