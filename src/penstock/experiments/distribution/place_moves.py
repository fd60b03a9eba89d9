"""E-13, E-14, E-15: units that move while all runs."""

from dataclasses import replace

from penstock.experiments.distribution.cluster_runs import (
    DECIDERS,
    GROUPING,
    OURS,
    RR,
    SAME,
    THOUSAND,
    seconds_of,
    setting_of,
)
from penstock.experiments.trial import Effort
from penstock.place import Move, Placement
from penstock.sim.distribution.simulation import STEP, ClusterOutcome, simulate_cluster
from penstock.sim.report import Claim, Report

EVERY = 60.0  # seconds
POINTS = 10
LITTLE, MORE = 0.05, 0.1  # what grouping gains


def place_moving(_seed: int, effort: Effort) -> Report:
    """E-13: plan 2, window 20 s, a join that goes to and fro between two of three processors.

    The third has the root: beside it a join would take from the output what no move does.
    """
    setting = setting_of("plan 2", 20.0, 3, GROUPING)
    (root,) = setting.plan.roots
    one, two = (each.name for each in setting.processors if each.name != setting.placement[root])
    join = next(
        each.name
        for each in setting.plan.operators
        if each.is_join and setting.placement[each.name] in {one, two}
    )

    def forced(now: float, placement: Placement) -> tuple[Move, ...]:
        here = placement[join]
        return (Move(join, here, two if here == one else one),) if now % EVERY < STEP else ()

    still = simulate_cluster(setting, seconds_of(effort))
    moved = simulate_cluster(replace(setting, forced=forced), seconds_of(effort))
    shares = [place / POINTS for place in range(1, POINTS + 1)]
    rows = tuple(
        (share, *(each.between(0, share) / THOUSAND for each in (still, moved))) for share in shares
    )
    return Report(
        "E-13: a join that moves every minute",
        f"Plan 2, window 20 s, three processors, {moved.moves} moves; thousand tuples",
        ("share of the time", "left alone", "moved"),
        rows,
        (
            Claim(
                "moving changes no throughput (by 2 %)",
                moved.throughput >= (1 - SAME) * still.throughput,
            ),
        ),
    )


def place_rescue(_seed: int, effort: Effort) -> Report:
    """E-14: plan 2, window 10 s, three processors, round robin and what is done about it."""
    found = {name: _run("plan 2", 3, RR, name, effort) for name in DECIDERS}
    still = found["none"].throughput
    return Report(
        "E-14: what redistribution makes of round robin",
        "Plan 2, window 10 s, three processors",
        ("strategy", "thousand tuples", "of none", "moves"),
        tuple(
            (
                name,
                each.throughput / THOUSAND,
                each.throughput / still if still else 0.0,
                each.moves,
            )
            for name, each in found.items()
        ),
        (
            Claim(
                "degradation doubles the throughput", found["degradation"].throughput >= 2 * still
            ),
            Claim("it loses nothing", found["degradation"].throughput >= (1 - SAME) * still),
            Claim(
                "gain is at least as good as degradation and balance",
                found["gain"].throughput
                >= (1 - SAME) * max(found[name].throughput for name in ("degradation", "balance")),
            ),
        ),
    )


def place_redistribution(_seed: int, effort: Effort) -> Report:
    """E-15: plan 3 on two and three processors, by every pattern and every policy."""
    found = {
        (count, pattern, name): _run("plan 3", count, pattern, name, effort)
        for count in (2, 3)
        for pattern in (RR, GROUPING, OURS)
        for name in DECIDERS
    }
    made = {case: each.throughput / THOUSAND for case, each in found.items()}
    gains = [
        made[n, GROUPING, "degradation"] / made[n, GROUPING, "none"] - 1
        if made[n, GROUPING, "none"]
        else 0.0
        for n in (2, 3)
    ]
    return Report(
        "E-15: patterns and redistribution",
        "Plan 3, window 10 s; thousand tuples in half an hour, and moves",
        ("processors", "pattern, policy", "thousand tuples", "moves"),
        tuple(
            (count, f"{pattern}, {name}", made[count, pattern, name], each.moves)
            for (count, pattern, name), each in found.items()
        ),
        (
            Claim(
                "degradation adds 5 to 10 % to grouping",
                all(LITTLE <= each <= MORE for each in gains),
            ),
            Claim(
                "grouping needs fewer moves than round robin",
                all(
                    found[n, GROUPING, "degradation"].moves < found[n, RR, "degradation"].moves
                    for n in (2, 3)
                ),
            ),
            Claim(
                "grouping is ahead of round robin, whatever the policy",
                all(
                    made[n, GROUPING, name] > made[n, RR, name] for n in (2, 3) for name in DECIDERS
                ),
            ),
            Claim(
                "least cut with gain is best, or as good (2 %)",
                all(
                    made[n, OURS, "gain"]
                    >= (1 - SAME) * max(made[case] for case in made if case[0] == n)
                    for n in (2, 3)
                ),
            ),
        ),
    )


def _run(plan: str, count: int, pattern: str, policy: str, effort: Effort) -> ClusterOutcome:
    setting = setting_of(plan, 10.0, count, pattern)
    return simulate_cluster(replace(setting, redistribution=DECIDERS[policy]()), seconds_of(effort))
