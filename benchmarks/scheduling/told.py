"""What the phases came to, as a report with its claims, for people and as a picture."""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.scheduling.phases import Found
from penstock.sim.report import Claim, Report

COLUMNS = ("strategy", "utility", "mean latency s", "mean kB queued", "peak kB queued")
LEAD = 1.3  # of OptProfit with profit-dominant handling over round robin
SHORT = {"optprofit WITH (handling => profit_dominant)": "optprofit+pd"}


class Middle(NamedTuple):
    """The medians of a strategy's phases."""

    utility: float
    latency: float
    mean_bytes: float
    peak_bytes: float


def told(found: Sequence[Found], setting: str) -> Report:
    """Return the table of medians and which aims were met."""
    phases: dict[str, list[Found]] = {}
    for each in found:
        phases.setdefault(SHORT.get(each.strategy, each.strategy), []).append(each)
    middles = {name: _middle(each) for name, each in phases.items()}
    return Report(
        "Strategies on Spark, past capacity",
        setting,
        COLUMNS,
        tuple(
            (name, each.utility, each.latency, each.mean_bytes / 1e3, each.peak_bytes / 1e3)
            for name, each in middles.items()
        ),
        tuple(_claims(middles)),
    )


def _middle(phases: Sequence[Found]) -> Middle:
    return Middle(
        median(each.utility for each in phases),
        median(each.mean_latency for each in phases),
        median(each.mean_bytes for each in phases),
        median(each.peak_bytes for each in phases),
    )


def _claims(found: dict[str, Middle]) -> list[Claim]:
    """Return the aims that can be judged by the strategies that ran."""
    claims: list[Claim] = []
    if {"optprofit+pd", "round_robin"} <= found.keys():
        lead = found["optprofit+pd"].utility / found["round_robin"].utility
        text = f"OptProfit+PD has {LEAD:g} times round robin's utility and more ({lead:.2f})"
        claims.append(Claim(text, lead >= LEAD))
    if "pcs" in found:
        least = min(each.latency for each in found.values())
        claims.append(Claim("PCS has the lowest mean latency", found["pcs"].latency <= least))
    if {"segment", "chain"} & found.keys():
        least = min(found, key=lambda name: found[name].peak_bytes)
        thrifty = least in ("segment", "simplified_segment", "chain")
        claims.append(Claim("segment or Chain has the lowest peak memory", thrifty))
    return claims
