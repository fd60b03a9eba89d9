"""E4.6: how little of a tuple's validity is left when it comes."""

from penstock.experiments.trial import Effort, Setting, lost, scores, table
from penstock.sim.report import Claim, Report

DELAYS = (0.0, 1.0, 2.0, 3.0, 3.8)


def urgency(seed: int, effort: Effort) -> Report:
    """Delay tuples more and more, of the 4 to 8 seconds that they are valid."""
    found = scores([Setting(delay=each) for each in DELAYS], seed, effort)
    aware = [name for name in found if name.endswith(("DD", "PD"))]
    return Report(
        "E4.6: urgency",
        "QoS score by the seconds that tuples are late at arrival",
        ("delay", *found),
        table(DELAYS, found),
        (
            Claim(
                "one that handles deadlines loses least",
                min(found, key=lambda name: lost(found, name)) in aware,
            ),
            Claim(
                "with DD or PD, Basic and OptProfit each lose less than without",
                all(
                    min(lost(found, f"{name}+DD"), lost(found, f"{name}+PD")) < lost(found, name)
                    for name in ("Basic", "OptProfit")
                ),
            ),
        ),
    )
