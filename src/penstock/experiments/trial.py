"""Trials: what the experiments of the thesis' chapter 4 have in common."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from penstock.schedule import Strategy, make_strategy
from penstock.schedule.batching import Intelligent
from penstock.sim.machine import Machine
from penstock.sim.outcome import Outcome
from penstock.sim.simulation import simulate
from penstock.sim.workloads.arrivals import Times, b_model
from penstock.sim.workloads.random_queries import QuerySet
from penstock.sim.workloads.workload import Workload


@dataclass(frozen=True, slots=True)
class Effort:
    """How much an experiment is worth: workloads for each point, and how long each goes on."""

    trials: int = 3
    seconds: float = 40.0


RATE = 50.0  # tuples a second of each stream; only costs relative to it count
LOAD = 1.6  # the thesis' experiments are past capacity: below, every strategy is in time
BIAS = 0.7  # of the thesis' recorded traffic, which is said to have 0.6 to 0.8
TICK = 0.05  # seconds
# The thesis states no overheads. These are some hundredths of what an operator does with a tuple;
# `batching` shows what dearer decisions change.
MACHINE = Machine(
    switch_seconds=2e-5,
    decision_seconds=2e-5,
    ready_seconds=1e-6,
    batching=Intelligent(),
    preemptive=True,
    may_discard=True,
)

THESIS = QuerySet()
Make = Callable[[], Strategy]
DD, PD = "deadline_dominant", "profit_dominant"
ALGORITHMS: Mapping[str, Make] = {
    "round robin": lambda: make_strategy("round_robin"),
    "Basic": lambda: make_strategy("basic"),
    "OptProfit": lambda: make_strategy("optprofit"),
    "Basic+DD": lambda: make_strategy("basic", handling=DD),
    "OptProfit+DD": lambda: make_strategy("optprofit", handling=DD),
    "Basic+PD": lambda: make_strategy("basic", handling=PD),
    "OptProfit+PD": lambda: make_strategy("optprofit", handling=PD),
}
OPTPROFIT = ("OptProfit", "OptProfit+DD", "OptProfit+PD")
BASIC = ("Basic", "Basic+DD", "Basic+PD")
CLOSE = 0.02  # scores that differ by less are taken as equal


@dataclass(frozen=True, slots=True)
class Setting:
    """One point of an experiment."""

    queries: QuerySet = THESIS
    load: float = LOAD
    bias: float = BIAS
    delay: float = 0.0  # seconds that a tuple has lost of its validity before it comes
    machine: Machine = MACHINE

    def workload(self, seed: int, seconds: float) -> Workload:
        """Return the workload of a seed."""

        def traffic(stream: int) -> Times:
            return b_model(RATE, seconds, seed * 100 + stream, bias=self.bias)

        drawn = replace(self.queries.draw(seed, traffic, tick=TICK), seconds=seconds)
        validity = {name: max(0.0, each - self.delay) for name, each in drawn.validity.items()}
        return replace(drawn, validity=validity).at_load(self.load)


Scores = Mapping[str, list[float]]  # by algorithm, one for each point


def outcomes(make: Make, setting: Setting, seed: int, effort: Effort) -> list[Outcome]:
    """Return what each trial came to."""
    return [simulate(each, make(), setting.machine) for each in _workloads(setting, seed, effort)]


def scores(
    settings: Sequence[Setting],
    seed: int,
    effort: Effort,
    algorithms: Mapping[str, Make] = ALGORITHMS,
) -> Scores:
    """Return the mean QoS score of every algorithm at every point."""
    found: dict[str, list[float]] = {name: [] for name in algorithms}
    for setting in settings:
        loads = _workloads(setting, seed, effort)
        for name, make in algorithms.items():
            reached = [simulate(each, make(), setting.machine).utility for each in loads]
            found[name].append(fmean(reached))
    return found


def _workloads(setting: Setting, seed: int, effort: Effort) -> list[Workload]:
    seeds = range(seed, seed + effort.trials)
    return [setting.workload(each, effort.seconds) for each in seeds]


def table(points: Sequence[float | str], found: Scores) -> tuple[tuple[str | float, ...], ...]:
    """Return a row a point, a column an algorithm."""
    return tuple(
        (point, *(found[name][place] for name in found)) for place, point in enumerate(points)
    )


def best(found: Scores, place: int) -> str:
    """Return the algorithm of the highest score at a point."""
    return max(found, key=lambda name: found[name][place])


def leads(found: Scores, place: int, names: Sequence[str]) -> bool:
    """Say whether one of some algorithms is best at a point, or as good as the best."""
    top = max(found[name][place] for name in names)
    return top >= found[best(found, place)][place] - CLOSE


def lost(found: Scores, name: str) -> float:
    """Return how much an algorithm loses from the first point to the last."""
    return found[name][0] - found[name][-1]
