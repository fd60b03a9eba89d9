"""E4.5: how much comes in."""

from penstock.experiments.trial import (
    BASIC,
    OPTPROFIT,
    Effort,
    Setting,
    leads,
    lost,
    scores,
    table,
)
from penstock.sim.report import Claim, Report

LOADS = (0.6, 0.9, 1.2, 1.6, 2.2, 3.0)


def load(seed: int, effort: Effort) -> Report:
    """Vary the load from below capacity to three times of it."""
    found = scores([Setting(load=each) for each in LOADS], seed, effort)
    return Report(
        "E4.5: input load",
        "QoS score by load (1 is all that the processor can do)",
        ("load", *found),
        table(LOADS, found),
        (
            Claim(
                "past capacity the OptProfit family is best",
                all(leads(found, n, OPTPROFIT) for n, each in enumerate(LOADS) if each > 1),
            ),
            Claim(
                "the OptProfit family loses less than the Basic family",
                min(lost(found, name) for name in OPTPROFIT)
                <= min(lost(found, name) for name in BASIC),
            ),
            Claim(
                "round robin loses most",
                lost(found, "round robin") >= max(lost(found, name) for name in found),
            ),
        ),
    )
