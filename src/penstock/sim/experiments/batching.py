"""E4.2: how many waiting trains one run takes."""

from dataclasses import replace
from statistics import fmean

from penstock.schedule.batching import Batching, FixedInterval, FixedLength, Intelligent
from penstock.sim.experiments.report import Claim, Report
from penstock.sim.experiments.trial import (
    ALGORITHMS,
    BASIC,
    MACHINE,
    OPTPROFIT,
    RATE,
    TICK,
    Effort,
    Setting,
    outcomes,
    scores,
    table,
)

SECONDS = 1.0  # of the fixed interval
SIGNIFICANT = 0.05  # the thesis': a consistent gain of so much


def batching(seed: int, effort: Effort) -> Report:
    """Compare none, fixed length (the intelligent rule's mean), fixed interval and intelligent."""
    intelligent = outcomes(ALGORITHMS["OptProfit"], Setting(), seed, effort)
    mean = fmean(each.trains_a_run for each in intelligent) * RATE * TICK
    rules: dict[str, Batching] = {
        "none": FixedLength(1e-9),
        f"fixed length ({mean:.3g} tuples)": FixedLength(mean),
        f"fixed interval ({SECONDS:g} s)": FixedInterval(SECONDS),
        "intelligent": Intelligent(),
        "intelligent, alpha and beta +30 %": Intelligent(0.9 * 1.3, 4 * 1.3),
        "intelligent, alpha and beta -30 %": Intelligent(0.9 * 0.7, 4 * 0.7),
    }
    settings = [Setting(machine=replace(MACHINE, batching=rule)) for rule in rules.values()]
    chosen = {name: ALGORITHMS[name] for name in (*OPTPROFIT, *BASIC)}
    found = scores(settings, seed, effort, chosen)
    means = [fmean(found[name][place] for name in OPTPROFIT) for place in range(len(rules))]
    none, length, interval, best, more, less = means
    return Report(
        "E4.2: batching",
        "QoS score by batching rule",
        ("rule", *found),
        table(list(rules), found),
        (
            Claim("no batching is worst", none <= min(length, interval, best)),
            Claim("intelligent batching is best", best >= max(none, length, interval)),
            Claim(f"by {SIGNIFICANT:.0%} over none", best >= (1 + SIGNIFICANT) * none),
            Claim(
                "30 % more or less of alpha and beta changes less than 5 %",
                max(abs(more - best), abs(less - best)) < SIGNIFICANT,
            ),
        ),
    )
