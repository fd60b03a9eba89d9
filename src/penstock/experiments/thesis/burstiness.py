"""E4.7: how much of the traffic comes in bursts."""

from penstock.experiments.trial import Effort, Setting, leads, lost, scores, table
from penstock.sim.report import Claim, Report

BIASES = (0.5, 0.6, 0.7, 0.8, 0.9)


def burstiness(seed: int, effort: Effort) -> Report:
    """Vary the b-model's bias."""
    found = scores([Setting(bias=each) for each in BIASES], seed, effort)
    better = [name for name in found if lost(found, name) < 0]
    return Report(
        "E4.7: burstiness",
        "QoS score by the b-model's bias (real traffic has 0.6 to 0.8)",
        ("bias", *found),
        table(BIASES, found),
        (
            Claim("most strategies improve with burstiness", len(better) > len(found) / 2),
            Claim(
                "OptProfit+PD is best",
                all(leads(found, place, ("OptProfit+PD",)) for place in range(len(BIASES))),
            ),
        ),
    )
