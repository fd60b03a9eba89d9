"""E-4: what a coordinator hears and says while five processors work on a plan."""

from dataclasses import replace
from statistics import fmean

from penstock.experiments.distribution.cluster_runs import (
    GROUPING,
    gain_decides,
    seconds_of,
    setting_of,
    thesis_decides,
)
from penstock.experiments.trial import Effort
from penstock.sim.distribution.simulation import simulate_cluster
from penstock.sim.report import Claim, Report

PLANS = ("plan 2", "plan 3", "plan 4")
HEARD, SAID = 400, 1000  # bytes a second of the thesis: received on the mean, sent at most


def place_coordinator(_seed: int, effort: Effort) -> Report:
    """Count the bytes of the protocol's own messages."""
    rows = []
    for plan in PLANS:
        for name, decides in (("degradation", thesis_decides), ("gain", gain_decides)):
            setting = setting_of(plan, 10.0, 5, GROUPING)
            outcome = simulate_cluster(
                replace(setting, redistribution=decides()), seconds_of(effort)
            )
            later = outcome.sent[1:] or [0]
            rows.append(
                (plan, name, fmean(outcome.received), outcome.sent[0], max(later), outcome.moves)
            )
    return Report(
        "E-4: bytes of a coordinator",
        "Grouping over five processors, window 10 s, reports of changed figures every 10 s",
        ("plan", "policy", "received B/s", "sent at start B", "sent at most B/s", "moves"),
        tuple(rows),
        (
            Claim("it hears 400 B/s or less on the mean", all(row[2] <= HEARD for row in rows)),
            Claim(
                "after the start it never says more than 1 kB in a second",
                all(row[4] <= SAID for row in rows),
            ),
            Claim("what it says at the start is the most", all(row[3] >= row[4] for row in rows)),
        ),
    )
