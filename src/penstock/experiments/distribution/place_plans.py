"""E-5 to E-9, E-11: plans over one to five processors, by every pattern."""

from penstock.experiments.distribution.cluster_runs import (
    GROUPING,
    OURS,
    RR,
    SAME,
    THOUSAND,
    run,
)
from penstock.experiments.trial import Effort
from penstock.place import PATTERNS
from penstock.place.placement import connections_of, edges_cut
from penstock.sim.distribution.operator_plan import PLANS
from penstock.sim.distribution.processor_costs import ProcessorCosts
from penstock.sim.distribution.simulation import ClusterOutcome, network_of, processors_of
from penstock.sim.report import Claim, Report

COUNTS = (1, 2, 3, 4, 5)
WINDOW = 10.0
EARLY, LATE = 15 * 60, 25 * 60  # about 20 minutes
Outcomes = dict[tuple[str, int], ClusterOutcome]


def place_small(_seed: int, effort: Effort) -> Report:
    """E-5, E-6: plan 1, of single-stream operators and of joins, by round robin."""
    cases = {
        "0 s": ("plan 1", 0.0),
        "2 s": ("plan 1, joins", 2.0),
        "10 s": ("plan 1, joins", 10.0),
    }
    made = {
        name: [run(plan, window, count, RR, effort).throughput / THOUSAND for count in COUNTS]
        for name, (plan, window) in cases.items()
    }
    return Report(
        "E-5, E-6: plan 1 by round robin",
        "Five operators (joins, where there is a window); thousand tuples that came out",
        ("processors", *made),
        tuple((count, *(made[name][place] for name in made)) for place, count in enumerate(COUNTS)),
        (
            Claim(
                "E-5: without joins all have the same throughput",
                max(made["0 s"]) <= (1 + SAME) * min(made["0 s"]),
            ),
            Claim(
                "E-6: with joins several have at least that of one",
                all(min(made[name]) >= (1 - SAME) * made[name][0] for name in ("2 s", "10 s")),
            ),
        ),
    )


def place_twenty(_seed: int, effort: Effort) -> Report:
    """E-7: plan 2, window 10 s."""
    found = _over("plan 2", effort)
    return _report(
        "E-7: plan 2 (20 operators)",
        found,
        Claim("it gains a quarter by round robin (20 to 30 %)", _gains(found, RR, 0.2, 0.3)),
        Claim("and by grouping", _gains(found, GROUPING, 0.2, 0.3)),
    )


def place_forty(_seed: int, effort: Effort) -> Report:
    """E-8: plan 3, window 10 s."""
    found = _over("plan 3", effort)
    gains = _gains(found, GROUPING, 0.28, 0.38)
    bends = not _is_linear(found[GROUPING, 1]) and _is_linear(found[GROUPING, 5])
    return _report(
        "E-8: plan 3 (40 operators)",
        found,
        Claim("it gains a third by grouping (28 to 38 %)", gains),
        Claim("one processor levels off, five do not", bends),
    )


def place_eighty(_seed: int, effort: Effort) -> Report:
    """E-9: plan 4, window 10 s."""
    found = _over("plan 4", effort)
    died = found[GROUPING, 1].died_at
    is_full = died is not None and EARLY <= died <= LATE
    return _report(
        "E-9: plan 4 (80 operators)",
        found,
        Claim(f"one's memory is full after 20 minutes (15 to 25; {_minutes(died)})", is_full),
        Claim("several are linear", all(_is_linear(found[GROUPING, n]) for n in COUNTS[1:])),
    )


def place_patterns(_seed: int, effort: Effort) -> Report:
    """E-11: plan 2 on 2, 4 and 5 processors; connections, joins and pieces of each pattern."""
    costs, plan, rows = ProcessorCosts(), PLANS["plan 2"], []
    network = network_of(plan, WINDOW, costs)
    joins = [each.name for each in plan.operators if each.is_join]
    for count in (2, 4, 5):
        for name, pattern in PATTERNS.items():
            placement = pattern(network, processors_of(count, costs))
            links = connections_of(placement, network)
            ends = [end for each in links for end in (each.source, each.target) if end]
            ends += [placement[root] for root in plan.roots]
            together = [placement[join] for join in joins]
            rows.append(
                (
                    count,
                    name,
                    edges_cut(placement, network) + len(plan.streams),
                    max(map(ends.count, ends)),
                    max(map(together.count, together)),
                    run("plan 2", WINDOW, count, name, effort).throughput / THOUSAND,
                )
            )
    by = {(row[0], row[1]): row for row in rows}
    return Report(
        "E-11: patterns on plan 2",
        "Window 10 s; connections are cut edges and streams, as the thesis counts them",
        ("processors", "pattern", "connections", "most of one", "joins of one", "thousand tuples"),
        tuple(rows),
        (
            Claim(
                "grouping is always better than round robin",
                all(by[count, GROUPING][5] > by[count, RR][5] for count in (2, 4, 5)),
            ),
            Claim(
                "grouping has fewer connections",
                all(by[count, GROUPING][2] < by[count, RR][2] for count in (2, 4, 5)),
            ),
            Claim(
                "least cut has no fewer tuples than either (by 2 %)",
                all(
                    by[count, OURS][5] >= (1 - SAME) * by[count, other][5]
                    for count in (2, 4, 5)
                    for other in (RR, GROUPING)
                ),
            ),
        ),
    )


def _report(title: str, found: Outcomes, *claims: Claim) -> Report:
    ahead = all(
        found[OURS, count].throughput >= (1 - SAME) * found[GROUPING, count].throughput
        for count in COUNTS
    )
    return Report(
        title,
        "Window 10 s; thousand tuples that came out in half an hour, or before a memory was full",
        ("processors", *PATTERNS),
        tuple(
            (count, *(found[pattern, count].throughput / THOUSAND for pattern in PATTERNS))
            for count in COUNTS
        ),
        (*claims, Claim("least cut is never behind grouping (by 2 %)", ahead)),
    )


def _over(plan: str, effort: Effort) -> Outcomes:
    """Return what every pattern comes to; over one processor all are the same."""
    alone = run(plan, WINDOW, 1, RR, effort)
    return {
        (pattern, count): alone if count == 1 else run(plan, WINDOW, count, pattern, effort)
        for pattern in PATTERNS
        for count in COUNTS
    }


def _gains(found: Outcomes, pattern: str, least: float, most: float) -> bool:
    alone = found[pattern, 1].throughput
    return alone > 0 and least <= found[pattern, 5].throughput / alone - 1 <= most


def _is_linear(outcome: ClusterOutcome) -> bool:
    middle, last = outcome.between(1 / 3, 2 / 3), outcome.between(2 / 3, 1)
    return outcome.died_at is None and last >= (1 - SAME) * middle


def _minutes(died: float | None) -> str:
    return "never here" if died is None else f"{died / 60:.0f} here"
