"""E4.2: how many waiting trains one run takes."""

from dataclasses import replace
from statistics import fmean

from penstock.experiments.trial import (
    ALGORITHMS,
    MACHINE,
    OPTPROFIT,
    Effort,
    Setting,
    outcomes,
    scores,
)
from penstock.schedule.batching import Batching, FixedInterval, FixedLength, Intelligent
from penstock.sim.machine import Machine
from penstock.sim.report import Claim, Report

SECONDS = 1.0  # of the fixed interval
SIGNIFICANT = 0.05  # the thesis': a consistent gain of so much
FACTORS = (1.0, 20.0)  # of what scheduling costs, which the thesis does not state


def batching(seed: int, effort: Effort) -> Report:
    """Compare none, fixed length (the intelligent rule's mean), fixed interval and intelligent."""
    rows: list[tuple[str | float, ...]] = []
    claims: list[Claim] = []
    for factor in FACTORS:
        machine = _dearer(factor)
        rules = _rules(machine, seed, effort)
        settings = [Setting(machine=replace(machine, batching=each)) for each in rules.values()]
        chosen = {name: ALGORITHMS[name] for name in OPTPROFIT}
        found = scores(settings, seed, effort, chosen)
        columns = [[found[name][place] for name in found] for place in range(len(rules))]
        rows += [(factor, rule, *each) for rule, each in zip(rules, columns, strict=True)]
        claims += _claims(factor, [fmean(each) for each in columns])
    return Report(
        "E4.2: batching",
        "QoS score by batching rule, where scheduling is cheap and where it is dear",
        ("overhead", "rule", *OPTPROFIT),
        tuple(rows),
        tuple(claims),
    )


def _dearer(factor: float) -> Machine:
    return replace(
        MACHINE,
        switch_seconds=MACHINE.switch_seconds * factor,
        decision_seconds=MACHINE.decision_seconds * factor,
        ready_seconds=MACHINE.ready_seconds * factor,
    )


def _rules(machine: Machine, seed: int, effort: Effort) -> dict[str, Batching]:
    intelligent = outcomes(ALGORITHMS["OptProfit"], Setting(machine=machine), seed, effort)
    mean = fmean(each.rows_a_run for each in intelligent)
    return {
        "none": FixedLength(1e-9),
        f"fixed length ({mean:.3g} tuples)": FixedLength(mean),
        f"fixed interval ({SECONDS:g} s)": FixedInterval(SECONDS),
        "intelligent": Intelligent(),
        "intelligent, alpha and beta +30 %": Intelligent(0.9 * 1.3, 4 * 1.3),
        "intelligent, alpha and beta -30 %": Intelligent(0.9 * 0.7, 4 * 0.7),
    }


def _claims(factor: float, means: list[float]) -> list[Claim]:
    none, length, interval, best, more, less = means
    where = f"overhead x {factor:g}"
    return [
        Claim(f"no batching is worst ({where})", none <= min(length, interval, best)),
        Claim(f"intelligent is best ({where})", best >= max(none, length, interval)),
        Claim(
            f"intelligent gains {SIGNIFICANT:.0%} over none ({where})",
            best >= (1 + SIGNIFICANT) * none,
        ),
        Claim(
            f"30 % of alpha and beta change less than 5 % ({where})",
            max(abs(more - best), abs(less - best)) < SIGNIFICANT,
        ),
    ]
