"""Anatomy Q1 to Q5: latency against memory under bursts. The paper claims; it measured nothing."""

from statistics import fmean

from penstock.experiments.anatomy.bursts import LOAD, MACHINE, PATHS, bursts
from penstock.experiments.trial import Effort
from penstock.schedule import make_strategy
from penstock.sim.outcome import Outcome
from penstock.sim.report import Claim, Report
from penstock.sim.simulation import simulate

STRATEGIES = ("chain", "segment", "simplified_segment", "pcs", "fifo", "round_robin")
MUCH, LITTLE = 1.2, 1.15  # what "much" and "slightly" are taken to mean


def latency_memory(seed: int, effort: Effort) -> Report:
    """Compare the strategies on the same bursts."""
    loads = [bursts(each, effort.seconds) for each in range(seed, seed + effort.trials)]
    found = {
        name: [simulate(each, make_strategy(name), MACHINE) for each in loads]
        for name in STRATEGIES
    }
    latency = {name: fmean(each.mean_latency for each in all_) for name, all_ in found.items()}
    memory = {name: fmean(each.mean_bytes for each in all_) for name, all_ in found.items()}
    overhead = {name: fmean(each.overhead_seconds for each in x) for name, x in found.items()}
    chain, segment, simple, pcs, *_ = STRATEGIES
    return Report(
        "Anatomy Q1 to Q5: latency against memory",
        f"{PATHS} queries over bursts of five times the mean rate, mean load {LOAD:g}",
        ("strategy", "mean latency s", "max latency s", "mean bytes", "peak bytes", "overhead s"),
        tuple(_row(name, all_) for name, all_ in found.items()),
        (
            Claim("Q1 PCS has the least mean latency", latency[pcs] <= min(latency.values())),
            Claim(
                "Q2 PCS needs no more memory than other path-based strategies",
                memory[pcs] <= min(memory["fifo"], memory["round_robin"]),
            ),
            Claim("Q3 PCS needs much more memory than Chain", memory[pcs] > MUCH * memory[chain]),
            Claim(
                "Q4 segments have much better latency than Chain",
                MUCH * min(latency[segment], latency[simple]) < latency[chain],
            ),
            Claim(
                "Q4 and a little more memory",
                max(memory[segment], memory[simple]) <= LITTLE * memory[chain],
            ),
            Claim(
                "Q5 simplified needs at most slightly more memory than segment",
                memory[simple] <= LITTLE * memory[segment],
            ),
            Claim("Q5 with significantly less latency", MUCH * latency[simple] < latency[segment]),
            Claim("Q5 and less overhead", overhead[simple] < overhead[segment]),
        ),
    )


def _row(name: str, all_: list[Outcome]) -> tuple[str | float, ...]:
    return (
        name,
        fmean(each.mean_latency for each in all_),
        max(each.max_latency for each in all_),
        fmean(each.mean_bytes for each in all_),
        max(each.peak_bytes for each in all_),
        fmean(each.overhead_seconds for each in all_),
    )
