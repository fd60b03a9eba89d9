"""What the experiments of D-CAPE have in common: half an hour of a plan under a pattern."""

from collections.abc import Callable

from penstock.experiments.trial import Effort
from penstock.place import COST_MODELS, PATTERNS, POLICIES, Limits, Redistribution
from penstock.place.policies.gain import Gain
from penstock.sim.distribution.operator_plan import PLANS
from penstock.sim.distribution.processor_costs import ProcessorCosts
from penstock.sim.distribution.simulation import (
    ClusterOutcome,
    Setting,
    network_of,
    processors_of,
    simulate_cluster,
)

HALF_AN_HOUR = 1800.0  # of every run of the thesis
RR, GROUPING, OURS = "round_robin", "grouping", "least_cut"
THOUSAND = 1000.0
SAME = 0.02  # throughputs that differ by less are taken as the same
COSTS = ProcessorCosts()

Decides = Callable[[], Redistribution | None]


def seconds_of(effort: Effort) -> float:
    """Return how long runs are: half an hour of them for the usual effort."""
    return HALF_AN_HOUR * effort.seconds / Effort().seconds


def setting_of(
    plan: str, window: float, count: int, pattern: str, costs: ProcessorCosts = COSTS
) -> Setting:
    """Return a plan over some processors as a pattern spreads it."""
    processors = processors_of(count, costs)
    placement = PATTERNS[pattern](network_of(PLANS[plan], window, costs), processors)
    return Setting(PLANS[plan], window, placement, processors, costs)


def run(plan: str, window: float, count: int, pattern: str, effort: Effort) -> ClusterOutcome:
    """Return what a plan comes to over some processors, where nothing moves."""
    return simulate_cluster(setting_of(plan, window, count, pattern), seconds_of(effort))


def nothing() -> None:
    """Decide nothing: units stay where they are."""


def thesis_decides() -> Redistribution:
    """Return what the thesis' experiments decide by (E-14, E-15)."""
    return Redistribution(COST_MODELS["output_rate"], POLICIES["degradation"], Limits())


def balance_decides() -> Redistribution:
    """Return the thesis' other policy, by busy time."""
    return Redistribution(COST_MODELS["busy_time"], POLICIES["balance"], Limits())


def gain_decides() -> Redistribution:
    """Return what is ours, by what bytes and connections cost here."""
    gain = Gain(
        byte_seconds=COSTS.network / COSTS.tuple_bytes,
        connection_seconds=COSTS.connection,
        carried_bytes=COSTS.carried_bytes,
        pause_seconds=COSTS.pause_seconds,
    )
    return Redistribution(COST_MODELS["busy_time"], gain, Limits(difference=0.0))


DECIDERS: dict[str, Decides] = {
    "none": nothing,
    "degradation": thesis_decides,
    "balance": balance_decides,
    "gain": gain_decides,
}
