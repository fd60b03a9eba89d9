"""What if: a measured system with other rates, more slots or another strategy."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.schedule import STRATEGIES, Choice
from penstock.schedule.choice import make
from penstock.sim.machine import Machine
from penstock.sim.outcome import Outcome
from penstock.sim.report import Cell, Report
from penstock.sim.simulation import simulate
from penstock.sim.workloads.measured_workload import MeasuredSystem

COLUMNS = (
    "strategy",
    "in time",
    "mean latency s",
    "max latency s",
    "mean bytes",
    "peak bytes",
    "busy",
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is other than when it was measured; without slots they are as many."""

    strategies: Sequence[Choice]
    rate_factor: float = 1.0
    slots: int | None = None
    seconds: float = 60.0
    seed: int = 1


def what_if(measured: MeasuredSystem, asked: Question) -> Report:
    """Return what each strategy would come to; a run's fixed cost is charged for every run."""
    workload = measured.workload(asked.seconds, asked.seed, asked.rate_factor)
    slots = asked.slots or measured.slots
    machine = Machine(slots=slots, decision_seconds=measured.run_seconds)
    load = workload.load() / slots
    rows = tuple(
        _row(
            choice.text(), simulate(workload, make(STRATEGIES, "strategy", choice), machine), slots
        )
        for choice in asked.strategies
    )
    return Report(
        f"What if: {len(measured.graph.queries)} queries as measured under {measured.strategy}",
        f"{asked.rate_factor:g} times the measured rates for {asked.seconds:g} s on {slots} slots: "
        f"a load of {load:.2f}, and {1000 * measured.run_seconds:.0f} ms for every run",
        COLUMNS,
        rows,
        (),
    )


def _row(name: str, found: Outcome, slots: int) -> tuple[Cell, ...]:
    working = found.busy_seconds + found.overhead_seconds
    return (
        name,
        found.utility,
        found.mean_latency,
        found.max_latency,
        found.mean_bytes,
        found.peak_bytes,
        working / (slots * found.seconds) if found.seconds else 0.0,
    )
