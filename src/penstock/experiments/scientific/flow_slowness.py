"""How slow the slow FFT must be for the thesis' claims on it; the thesis does not say."""

from penstock.experiments.scientific.flow_sizes import predicted, slow_claims
from penstock.experiments.scientific.gsdm_cluster import PLANS, SIZE, SIZES, cluster
from penstock.experiments.trial import Effort
from penstock.functions.tuning.prediction import speed_up
from penstock.sim.report import Claim, Report

FACTORS = (1.0, 1.25, 1.5, 1.6, 1.7, 1.75, 1.8, 2.0, 2.5, 3.0, 4.0, 8.0)


def flow_slowness(_seed: int, _effort: Effort) -> Report:
    """Tell, for each factor, where window split overtakes and what it gains, by the model."""
    rows, whole = [], []
    for factor in FACTORS:
        costs = cluster(factor)
        told = predicted(costs)
        claims = slow_claims(costs, told)
        better = [size for size in SIZES if told["WS4"][size] <= told["WD4"][size]]
        gains = (speed_up(PLANS[name], costs, SIZE) for name in ("WS4", "WD8", "WS8"))
        held = sum(claim.held for claim in claims)
        rows.append((factor, min(better, default=0) / 1024, *gains, held))
        whole += [factor] if held == len(claims) else []
    told_of = f"{min(whole):g} to {max(whole):g}" if whole else "none"
    return Report(
        "The thesis' slow set by how slow it is",
        f"First size at which WS4 beats WD4, speed-ups at {SIZE:,}, claims of E-2, E-3 that hold",
        ("times as slow", "WS4 from, in 1,024", "WS4", "WD8", "WS8", "claims held"),
        tuple(rows),
        (
            Claim(
                f"all claims of E-2 and E-3 hold at once for some factor ({told_of})", bool(whole)
            ),
            Claim(
                "WS4 gains 4.7 or more from a factor of 4 on",
                all(round(row[2], 1) >= 4.7 for row in rows if row[0] >= 4),  # noqa: PLR2004
            ),
        ),
    )
