"""E-10, E-12: round robin against grouping and ours, as time goes by."""

from penstock.experiments.distribution.cluster_runs import GROUPING, OURS, RR, THOUSAND, run
from penstock.experiments.trial import Effort
from penstock.place import PATTERNS
from penstock.sim.distribution.simulation import ClusterOutcome
from penstock.sim.report import Claim, Report

POINTS = 10
Curves = dict[str, ClusterOutcome]


def place_joins(_seed: int, effort: Effort) -> Report:
    """E-10: plan 1 of five joins, window 60 s, on four processors."""
    found = {name: run("plan 1, joins", 60.0, 4, name, effort) for name in PATTERNS}
    return Report(
        "E-10: five joins on four processors",
        "Window 60 s; thousand tuples that have come out by then",
        ("share of the time", *found),
        _rows(found),
        (
            Claim("round robin is ahead at first", _at(found[RR], 0.1) > _at(found[GROUPING], 0.1)),
            Claim("grouping is ahead at the end", _at(found[GROUPING], 1) > _at(found[RR], 1)),
            Claim("least cut is ahead of both", _leads(found)),
        ),
    )


def place_gap(_seed: int, effort: Effort) -> Report:
    """E-12: plan 3 on four processors and plan 4 on five, window 10 s."""
    three = {name: run("plan 3", 10.0, 4, name, effort) for name in PATTERNS}
    four = {name: run("plan 4", 10.0, 5, name, effort) for name in PATTERNS}
    two = {name: run("plan 2", 10.0, 4, name, effort) for name in (RR, GROUPING)}
    both = {
        **{f"3 {name}": each for name, each in three.items()},
        **{f"4 {name}": each for name, each in four.items()},
    }
    return Report(
        "E-12: plan 3 on four processors, plan 4 on five",
        "Window 10 s; thousand tuples that have come out by then",
        ("share of the time", *both),
        _rows(both),
        (
            Claim("grouping is ahead on plan 3", _gap(three) > 1),
            Claim("grouping is ahead on plan 4", _gap(four) > 1),
            Claim("the gap is wider than on plan 2", min(_gap(three), _gap(four)) > _gap(two)),
            Claim("least cut is ahead of both", _leads(three) and _leads(four)),
        ),
    )


def _rows(found: Curves) -> tuple[tuple[float, ...], ...]:
    shares = [place / POINTS for place in range(1, POINTS + 1)]
    return tuple(
        (share, *(_at(each, share) / THOUSAND for each in found.values())) for share in shares
    )


def _at(outcome: ClusterOutcome, share: float) -> float:
    return outcome.delivered[max(0, round(share * len(outcome.delivered)) - 1)]


def _gap(found: Curves) -> float:
    behind = found[RR].throughput
    return found[GROUPING].throughput / behind if behind else float("inf")


def _leads(found: Curves) -> bool:
    ours = found[OURS].throughput
    return ours >= max(each.throughput for each in found.values())
