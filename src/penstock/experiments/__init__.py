"""The experiments there are: those of the documents, and of quality of service."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.errors import UnknownNameError
from penstock.experiments.anatomy.estimates import estimates
from penstock.experiments.anatomy.latency_memory import latency_memory
from penstock.experiments.anatomy.overload import overload
from penstock.experiments.anatomy.recovery import recovery
from penstock.experiments.anatomy.wrong_figures import wrong_figures
from penstock.experiments.distribution.place_coordinator import place_coordinator
from penstock.experiments.distribution.place_limits import (
    place_connections,
    place_lookups,
    place_requests,
)
from penstock.experiments.distribution.place_moves import (
    place_moving,
    place_redistribution,
    place_rescue,
)
from penstock.experiments.distribution.place_plans import (
    place_eighty,
    place_forty,
    place_patterns,
    place_small,
    place_twenty,
)
from penstock.experiments.distribution.place_tiers import place_tiers
from penstock.experiments.distribution.place_time import place_gap, place_joins
from penstock.experiments.scientific.flow_phases import flow_phases
from penstock.experiments.scientific.flow_sizes import flow_fast, flow_slow
from penstock.experiments.scientific.flow_slowness import flow_slowness
from penstock.experiments.scientific.flow_speed_up import flow_speed_up
from penstock.experiments.thesis.alerts import alerts
from penstock.experiments.thesis.batching import batching
from penstock.experiments.thesis.burstiness import burstiness
from penstock.experiments.thesis.joins.join_latency import join_latency
from penstock.experiments.thesis.joins.join_memory import join_memory, join_pipelines
from penstock.experiments.thesis.joins.join_savings import join_savings
from penstock.experiments.thesis.joins.join_strategies import join_strategies
from penstock.experiments.thesis.joins.join_windows import join_windows
from penstock.experiments.thesis.last_ditch import last_ditch
from penstock.experiments.thesis.load import load
from penstock.experiments.thesis.sharing import sharing
from penstock.experiments.thesis.tokens import tokens
from penstock.experiments.thesis.urgency import urgency
from penstock.experiments.thesis.weight_variance import weight_variance
from penstock.experiments.trial import Effort
from penstock.sim.report import Claim, Report

__all__ = ["EXPERIMENTS", "Claim", "Effort", "Experiment", "Report", "experiment"]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A setting of a document, and the run that reproduces it from a seed."""

    about: str
    run: Callable[[int, Effort], Report]


EXPERIMENTS: dict[str, Experiment] = {
    "last_ditch": Experiment("E4.1: the u of the LastDitch interrupt", last_ditch),
    "batching": Experiment("E4.2: none, fixed length, fixed interval, intelligent", batching),
    "sharing": Experiment("E4.3: queries an operator", sharing),
    "weight_variance": Experiment("E4.4: how different queries' weights are", weight_variance),
    "load": Experiment("E4.5: from below capacity to three times of it", load),
    "urgency": Experiment("E4.6: tuples that come late", urgency),
    "burstiness": Experiment("E4.7: constant traffic to extreme bursts", burstiness),
    "alerts": Experiment("E5.8: alerts, users and archives over sensor grids", alerts),
    "join_memory": Experiment("E3.1: buffers of a join without windows, predicted", join_memory),
    "join_pipelines": Experiment("E3.2: the same of joins over joins", join_pipelines),
    "join_windows": Experiment("E3.3: joins with and without a window", join_windows),
    "join_strategies": Experiment("E3.4: memory by strategy", join_strategies),
    "join_latency": Experiment("E3.5: latency by strategy", join_latency),
    "join_savings": Experiment("E5.7: memory saved for time-slices of sensors", join_savings),
    "tokens": Experiment("E5.8 by tokens: missed slices that decay", tokens),
    "latency_memory": Experiment(
        "Anatomy Q1 to Q5: Chain, PCS, segments under bursts", latency_memory
    ),
    "wrong_figures": Experiment("Anatomy Q5: segments by figures that are wrong", wrong_figures),
    "overload": Experiment("contracts at up to four times the capacity (ten minutes)", overload),
    "recovery": Experiment("what a burst leaves behind", recovery),
    "estimates": Experiment("mean latency and memory: foretold and simulated", estimates),
    "flow_fast": Experiment("GSDM E-2, E-5: window split and distribute, fast FFT", flow_fast),
    "flow_slow": Experiment("GSDM E-2, E-3: window split and distribute, slow FFT", flow_slow),
    "flow_speed_up": Experiment("GSDM E-8: speed-up by the number of sites", flow_speed_up),
    "flow_phases": Experiment("GSDM E-4, E-6: what each phase does", flow_phases),
    "flow_slowness": Experiment("how slow GSDM's slow FFT must have been", flow_slowness),
    "place_requests": Experiment("D-CAPE E-1: requests to one processor", place_requests),
    "place_lookups": Experiment("D-CAPE E-2: queues searched and hashed", place_lookups),
    "place_connections": Experiment("D-CAPE E-3: connections of one processor", place_connections),
    "place_coordinator": Experiment("D-CAPE E-4: bytes of the coordinator", place_coordinator),
    "place_small": Experiment("D-CAPE E-5, E-6: plan 1 over one to five processors", place_small),
    "place_twenty": Experiment("D-CAPE E-7: plan 2 over one to five processors", place_twenty),
    "place_forty": Experiment("D-CAPE E-8: plan 3 over one to five processors", place_forty),
    "place_eighty": Experiment("D-CAPE E-9: plan 4 over one to five processors", place_eighty),
    "place_joins": Experiment("D-CAPE E-10: five joins on four processors", place_joins),
    "place_patterns": Experiment("D-CAPE E-11: patterns on plan 2", place_patterns),
    "place_gap": Experiment("D-CAPE E-12: patterns on plans 3 and 4", place_gap),
    "place_moving": Experiment("D-CAPE E-13: a join that moves every minute", place_moving),
    "place_rescue": Experiment("D-CAPE E-14: redistribution of round robin", place_rescue),
    "place_redistribution": Experiment(
        "D-CAPE E-15: patterns and redistribution", place_redistribution
    ),
    "place_tiers": Experiment("D-CAPE: a coordinator of coordinators", place_tiers),
}


def experiment(name: str) -> Experiment:
    """Return the experiment of that name."""
    if name not in EXPERIMENTS:
        raise UnknownNameError(f"no experiment {name}", hint=f"there are: {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]
