"""E-4, E-6, E-7: what each phase does in a segment, processing and communication apart."""

from penstock.experiments.scientific.gsdm_cluster import PLANS, SAMPLES, SLOWNESS, cluster
from penstock.experiments.trial import Effort
from penstock.functions.tuning.sites import Costs, Phase, Site, sites_of
from penstock.sim.report import Claim, Report

Loads = dict[tuple[str, Phase], Site]


def flow_phases(_seed: int, _effort: Effort) -> Report:
    """Tell the load of the busiest site of each phase; nothing is drawn here."""
    cases = {
        "slow, 512": (cluster(SLOWNESS), 512, ("WD4", "WS4")),
        "fast, 2,048": (cluster(), 2048, ("WD4", "WS4")),
        "fast, 8,192": (cluster(), 8192, ("WD4", "WS4")),
    }
    loads = {case: _loads(*each) for case, each in cases.items()}
    rows = tuple(
        (case, f"{name} {phase}", n * (site.receive + site.send), n * site.process, n * site.system)
        for case, found in loads.items()
        for (name, phase), site in found.items()
        for n in [SAMPLES / cases[case][1]]
    )
    slow, small, large = loads.values()
    return Report(
        "E-4, E-6: load of the busiest site of each phase",
        f"Seconds for {SAMPLES:,} samples, by the model",
        ("case", "site", "communication", "processing", "system"),
        rows,
        (
            Claim(
                "E-4: WS4 flat's partition and combination are more loaded than WD4's",
                all(
                    _seconds(slow, "WS4", phase) > _seconds(slow, "WD4", phase)
                    for phase in (Phase.PARTITION, Phase.COMBINE)
                ),
            ),
            Claim(
                "E-4: WS4 flat's combination exceeds its branches",
                _seconds(slow, "WS4", Phase.COMBINE) > _seconds(slow, "WS4", Phase.COMPUTE),
            ),
            Claim("E-6: at 2,048 WD4 is better", _worst(small, "WD4") < _worst(small, "WS4")),
            Claim("E-6: at 8,192 WS4 flat is better", _worst(large, "WS4") <= _worst(large, "WD4")),
        ),
    )


def _loads(costs: Costs, size: int, names: tuple[str, ...]) -> Loads:
    return {
        (name, site.phase): site for name in names for site in sites_of(PLANS[name], costs, size)
    }


def _seconds(found: Loads, name: str, phase: Phase) -> float:
    return found[name, phase].seconds


def _worst(found: Loads, name: str) -> float:
    return max(_seconds(found, name, phase) for phase in Phase)
