"""What the phases came to, as a report with its claims, for people and as a picture."""

from collections.abc import Sequence

from benchmarks.scheduling.phases import Found
from penstock.sim.experiments.report import Claim, Report

COLUMNS = ("strategy", "utility", "mean latency s", "mean kB queued", "peak kB queued")
LEAD = 1.3  # of OptProfit with profit-dominant handling over round robin
SHORT = {"optprofit WITH (handling => profit_dominant)": "optprofit+pd"}


def told(found: Sequence[Found], setting: str) -> Report:
    """Return the table and which aims were met."""
    by_name = {SHORT.get(each.strategy, each.strategy): each for each in found}
    return Report(
        "Strategies on Spark, past capacity",
        setting,
        COLUMNS,
        tuple(
            (name, each.utility, each.mean_latency, each.mean_bytes / 1e3, each.peak_bytes / 1e3)
            for name, each in by_name.items()
        ),
        tuple(_claims(by_name)),
    )


def _claims(found: dict[str, Found]) -> list[Claim]:
    """Return the aims that can be judged by the strategies that ran."""
    claims: list[Claim] = []
    if {"optprofit+pd", "round_robin"} <= found.keys():
        lead = found["optprofit+pd"].utility / found["round_robin"].utility
        text = f"OptProfit+PD has {LEAD:g} times round robin's utility and more ({lead:.2f})"
        claims.append(Claim(text, lead >= LEAD))
    if "pcs" in found:
        least = min(each.mean_latency for each in found.values())
        claims.append(Claim("PCS has the lowest mean latency", found["pcs"].mean_latency <= least))
    if {"segment", "chain"} & found.keys():
        least = min(found, key=lambda name: found[name].peak_bytes)
        thrifty = least in ("segment", "simplified_segment", "chain")
        claims.append(Claim("segment or Chain has the lowest peak memory", thrifty))
    return claims
