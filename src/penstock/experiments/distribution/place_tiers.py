"""Two tiers (DCAPE-39): a coordinator of sites above one in each. The thesis has no figures."""

from penstock.experiments.distribution.cluster_runs import (
    COSTS,
    GROUPING,
    OURS,
    SAME,
    THOUSAND,
    seconds_of,
)
from penstock.experiments.trial import Effort
from penstock.place import PATTERNS, Network, Placement
from penstock.place.placement import bytes_cut
from penstock.place.tiers import Sites, spread_in_tiers
from penstock.sim.distribution.operator_plan import PLANS
from penstock.sim.distribution.simulation import (
    Setting,
    network_of,
    processors_of,
    simulate_cluster,
)
from penstock.sim.report import Claim, Report

PLAN, WINDOW = "plan 4", 10.0


def place_tiers(_seed: int, effort: Effort) -> Report:
    """Spread plan 4 over two sites of three processors, with one coordinator and with three."""
    plan, network = PLANS[PLAN], network_of(PLANS[PLAN], WINDOW, COSTS)
    processors = processors_of(6, COSTS)
    sites = {"east": processors[::2], "west": processors[1::2]}  # no pattern knows sites by itself
    rows = []
    for name in (GROUPING, OURS):
        for tiers in (1, 2):
            placement = (
                PATTERNS[name](network, processors)
                if tiers == 1
                else spread_in_tiers(network, sites, PATTERNS[name])
            )
            outcome = simulate_cluster(
                Setting(plan, WINDOW, placement, processors), seconds_of(effort)
            )
            far = _between_sites(network, placement, sites)
            rows.append(
                (
                    tiers,
                    name,
                    outcome.throughput / THOUSAND,
                    far / 1000,
                    bytes_cut(placement, network) / 1000,
                )
            )
    by = {(row[0], row[1]): row for row in rows}
    return Report(
        "Two tiers: sites, then processors",
        "Plan 4, window 10 s, two sites of three processors",
        ("tiers", "pattern", "thousand tuples", "kB/s between sites", "kB/s between processors"),
        tuple(rows),
        (
            Claim(
                "two tiers send less between sites",
                all(by[2, name][3] < by[1, name][3] for name in (GROUPING, OURS)),
            ),
            Claim(
                "and lose no throughput (by 2 %)",
                all(by[2, name][2] >= (1 - SAME) * by[1, name][2] for name in (GROUPING, OURS)),
            ),
        ),
    )


def _between_sites(network: Network, placement: Placement, sites: Sites) -> float:
    of = {each.name: site for site, there in sites.items() for each in there}
    return bytes_cut({unit: of[name] for unit, name in placement.items()}, network)
