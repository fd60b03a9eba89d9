"""E-8: speed-up over one site by the number of sites, slow FFT, 8,192 samples."""

from penstock.experiments.scientific.gsdm_cluster import PLANS, SIZE, SLOWNESS, cluster, elapsed
from penstock.experiments.trial import Effort
from penstock.functions.tuning.prediction import speed_up
from penstock.sim.report import Claim, Report

WS4, WD4 = 4.72, 4.0  # the thesis'
OFF = 0.02
DRAWN = ("WD2", "WS2", "WD4", "WS4", "WD8", "WS8", "WS4 tree")  # in the thesis' figure


def flow_speed_up(seed: int, effort: Effort) -> Report:
    """Run every plan at the size of the thesis' figure."""
    costs = cluster(SLOWNESS)
    took = {name: elapsed(plan, costs, SIZE, seed, effort) for name, plan in PLANS.items()}
    gain = {name: took["central"] / seconds for name, seconds in took.items()}
    a_site = {name: gain[name] / PLANS[name].sites for name in DRAWN}
    rows = tuple(
        (name, plan.sites, gain[name], gain[name] / plan.sites, speed_up(plan, costs, SIZE))
        for name, plan in PLANS.items()
    )
    return Report(
        f"E-8: speed-up, FFT {SLOWNESS:g} times as slow",
        f"Windows of {SIZE:,} samples; a site has a machine of its own",
        ("strategy", "sites", "speed-up", "a site", "predicted"),
        rows,
        (
            Claim(f"WS4 flat gains {WS4} (within 2 %)", abs(gain["WS4"] / WS4 - 1) <= OFF),
            Claim(f"WD4 flat gains {WD4:g} (within 2 %)", abs(gain["WD4"] / WD4 - 1) <= OFF),
            Claim("with 4 and 6 sites WS is better", _better(gain)),
            Claim("with 10 sites WD8 beats WS8", gain["WD8"] > gain["WS8"]),
            Claim(
                "WS4 tree gains least for a site", min(a_site, key=a_site.__getitem__) == "WS4 tree"
            ),
        ),
    )


def _better(gain: dict[str, float]) -> bool:
    return gain["WS2"] > gain["WD2"] and gain["WS4"] > gain["WD4"]
