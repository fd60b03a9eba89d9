"""E4.1: how much more a unit must be worth that interrupts for its deadline (u)."""

from functools import partial

from penstock.experiments.trial import CLOSE, DD, LOAD, PD, Effort, Make, Setting, scores, table
from penstock.schedule import make_strategy
from penstock.sim.report import Claim, Report

HANDLINGS = {"DD": DD, "PD": PD}
FACTORS = (0.2, 0.4, 0.65, 0.9, 1.3, 2.0, 3.0, 6.0)


def last_ditch(seed: int, effort: Effort) -> Report:
    """Vary u for deadline-dominant and profit-dominant handling."""
    kinds = [(name, short) for name in ("Basic", "OptProfit") for short in HANDLINGS]
    algorithms: dict[str, Make] = {
        f"{name} {short} {factor}": partial(
            make_strategy, name.lower(), handling=HANDLINGS[short], u=factor
        )
        for name, short in kinds
        for factor in FACTORS
    }
    found = scores([Setting()], seed, effort, algorithms)
    columns = {
        f"{name} {short}": [found[f"{name} {short} {factor}"][0] for factor in FACTORS]
        for name, short in kinds
    }
    rows = table(FACTORS, columns)
    dd, pd = columns["OptProfit DD"], columns["OptProfit PD"]
    return Report(
        "E4.1: the u of LastDitch",
        f"QoS score by u, at load {LOAD:g}",
        ("u", *columns),
        rows,
        (
            Claim("DD does best with u from 1.2 to 3", _good(dd, 1.2, 3.0)),
            Claim("PD does best with u from 0.6 to 0.9", _good(pd, 0.6, 0.9)),
        ),
    )


def _good(found: list[float], low: float, high: float) -> bool:
    inside = [score for u, score in zip(FACTORS, found, strict=True) if low <= u <= high]
    return max(inside) >= max(found) - CLOSE / 10
