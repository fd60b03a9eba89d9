"""Overload: mixed contracts at up to four times of what the processor can do."""

from collections.abc import Callable, Mapping

from penstock.experiments.trial import Effort
from penstock.qos.contracts.contracts import SURE_SHARE
from penstock.qos.shedding.controller import Rule
from penstock.schedule import make_strategy
from penstock.sim.contract_simulation import simulate_contracts
from penstock.sim.judgment import judged, utility
from penstock.sim.policies import ByContracts, Nothing, Policy, UniformDrop
from penstock.sim.report import Claim, Report
from penstock.sim.workloads.scene import TRAFFICS, ContractScene, mixed_scene

LOADS = (0.5, 1.0, 2.0, 4.0)
LONGER = 15.0  # than the other experiments: ten minutes instead of three workloads of 40 s
STRATEGY = "earliest_deadline"
OTHERS = ("nothing", "uniform")
POLICIES: Mapping[str, Callable[[ContractScene], Policy]] = {
    "nothing": lambda _: Nothing(),
    "uniform": lambda scene: UniformDrop(scene.network, Rule.of(scene.tightest)),
    "contracts": lambda scene: ByContracts(scene.network, scene.contracts, scene.samplings),
}

Point = tuple[str, float, str]
Found = tuple[float, float, float, float]


def overload(seed: int, effort: Effort) -> Report:
    """Compare shedding by contracts with none, and with a uniform drop at the sources.

    One workload, and a long one.
    """
    found: dict[Point, Found] = {}
    for traffic in TRAFFICS:
        for load in LOADS:
            scene = mixed_scene(traffic, load, effort.seconds * LONGER, seed)
            for name, make in POLICIES.items():
                found[traffic, load, name] = _figures(scene, make(scene), seed)
    return Report(
        "Overload: contracts kept by shedding",
        f"15 queries under {STRATEGY}, by traffic, load (1 is all that can be done) and policy",
        ("traffic", "load and policy", "utility", "within error", "suspended", "worst p99 / limit"),
        tuple((at, f"{load:g} {name}", *each) for (at, load, name), each in found.items()),
        _claims(found),
    )


def _figures(scene: ContractScene, policy: Policy, seed: int) -> Found:
    story = simulate_contracts(scene, policy, make_strategy(STRATEGY))
    each = {query: judged(scene, story, query, seed) for query in scene.contracts}
    return (
        utility(scene, each),
        min(one.within_error for one in each.values()),
        sum(one.suspended for one in each.values()) / len(each),
        max(one.verdict.p99 / scene.contracts[query].max_latency for query, one in each.items()),
    )


def _claims(found: Mapping[Point, Found]) -> tuple[Claim, ...]:
    mine = {at: each for at, each in found.items() if at[2] == "contracts"}
    return (
        Claim(
            "with contracts p99 is within max_latency at every load",
            all(each[3] <= 1 for each in mine.values()),
        ),
        Claim(
            "the true error is within max_error in 95 % of windows that a query ran in",
            all(each[1] >= SURE_SHARE for each in mine.values()),
        ),
        Claim(
            "at capacity and past it the utility is not below that of others",
            all(
                each[0] >= found[at, load, other][0]
                for (at, load, _), each in mine.items()
                if load >= 1
                for other in OTHERS
            ),
        ),
        Claim("nobody is suspended", all(each[2] == 0 for each in mine.values())),
    )
