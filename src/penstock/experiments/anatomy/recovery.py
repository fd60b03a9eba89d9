"""Recovery: how long a burst of four times the capacity is felt after its end."""

import math

import numpy as np
import numpy.typing as npt

from penstock.experiments.anatomy.overload import POLICIES, STRATEGY
from penstock.experiments.trial import Effort
from penstock.schedule import make_strategy
from penstock.sim.contract_simulation import Story, simulate_contracts
from penstock.sim.report import Claim, Report
from penstock.sim.workloads.arrivals import Times, constant
from penstock.sim.workloads.scene import RATE, STREAMS, ContractScene, scene

CALM, HIGH = 0.5, 4.0  # loads before and after the burst, and in it
BEFORE, BURST = 0.25, 0.15  # of all the time
NEAR = 1.5  # times the latency before the burst
SOON_SECONDS = 5.0


def recovery(seed: int, effort: Effort) -> Report:
    """Compare policies by the worst latency of a burst, and by what is left of it afterwards."""
    del seed  # nothing is drawn
    seconds = effort.seconds * 2
    start, end = BEFORE * seconds, (BEFORE + BURST) * seconds
    burst = scene(dict.fromkeys(range(STREAMS), _times(seconds, start, end)), seconds)
    rows = []
    for name, make in POLICIES.items():
        story = simulate_contracts(burst, make(burst), make_strategy(STRATEGY))
        latency = _by_second(story)
        limit = NEAR * float(latency[: max(1, int(start) - 1)].max())
        rows.append((name, _worst(burst, story), _until(latency, end, limit), _gone(story, end)))
    found = {name: each for name, *each in rows}
    return Report(
        "Recovery after a burst",
        f"load {CALM:g}, and {HIGH:g} for {end - start:g} s; seconds after its end",
        ("strategy", "worst latency / limit", "latency as before after s", "gates gone after s"),
        tuple(rows),
        (
            Claim(
                f"with contracts latency is back within {SOON_SECONDS:g} s",
                found["contracts"][1] <= SOON_SECONDS,
            ),
            Claim("without shedding it is not", found["nothing"][1] > SOON_SECONDS),
            Claim("all gates are gone again", found["contracts"][2] < math.inf),
        ),
    )


def _times(seconds: float, start: float, end: float) -> Times:
    calm = constant(RATE * CALM, seconds)
    burst = start + constant(RATE * HIGH, end - start)
    return np.concatenate([calm[calm < start], burst, calm[calm >= end]])


def _by_second(story: Story) -> npt.NDArray[np.float64]:
    """Return the worst latency of what came in each second, over all queries."""
    worst = np.zeros(1)
    for got in story.delivered.values():
        places = np.array(got.arrived).astype(np.int64)
        longer = np.zeros(max(len(worst), int(places.max(initial=0)) + 1))
        longer[: len(worst)] = worst
        np.maximum.at(longer, places, np.array(got.latency))
        worst = longer
    return worst


def _worst(of: ContractScene, story: Story) -> float:
    """Return the latest tuple's latency over what its query allows."""
    return max(
        max(got.latency, default=0.0) / of.contracts[query].max_latency
        for query, got in story.delivered.items()
    )


def _until(latency: npt.NDArray[np.float64], end: float, limit: float) -> float:
    """Return how long after the burst tuples still took longer than a limit."""
    late = np.flatnonzero(latency > limit)
    return max(0.0, float(late[-1]) + 1 - end) if len(late) else 0.0


def _gone(story: Story, end: float) -> float:
    """Return how long after the burst the last gate stood; infinite where one stands at the end."""
    kept_at = [at for at, _, measures in story.measures if measures.keeps]
    if not kept_at:
        return 0.0
    last = story.measures[-1]
    return math.inf if last[2].keeps else max(0.0, kept_at[-1] - end)
