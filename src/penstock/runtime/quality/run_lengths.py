"""Run lengths: how many tuples a run may take, so that no answer is late by the run alone.

A tuple that just misses a run of its unit waits for that one and for its own, at every unit on its
way: so a run may take half of a unit's share of the shortest `max_latency` of those it works for.
A run that took less may be longer the next time, at most twice as long, and one that took more is
cut at once: what a run costs by itself depends on all else that runs.

A dear unit to whom nobody was promised anything takes a slot from all others while it runs: where
there are others its runs take a second, once they are known to take longer, and from the first
where others were promised something: a flood's first run would hold up everybody, and whatever has
to be changed while nothing runs, for as long as it takes.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.plan.operators import Gate
from penstock.qos.load.tuning import ROUNDS
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery
from penstock.runtime.work.live_unit import LiveUnit
from penstock.runtime.work.run_limits import RUN_LIMITS

MOST_STEP, LEAST_STEP = 2.0, 1 / 8  # from a run to the next: longer with care, shorter at once
AT_FIRST = 10_000  # tuples of a run of which nothing is known, and of any at least
KNOWN_RUNS = 3  # of a unit: the first are far slower than all that follow


@dataclass(frozen=True, slots=True)
class LatencyShare:
    """What a unit has of a latency: how long its runs may be, how old tuples are after them."""

    seconds: float
    age: float


UNPROMISED = LatencyShare(math.inf, math.inf)
FAIR_SECONDS = 1.0  # that a run may keep others from its slot
FEWEST = 500  # tuples of a fair run: fewer are soon dearer by the run than by themselves


def run_lengths(topology: Topology, statistics: Statistics) -> dict[str, int]:
    """Return the most tuples that a run of each unit may take, where anybody waits for it."""
    return _fair_lengths(topology, statistics) | _promised_lengths(topology, statistics)


def _fair_lengths(topology: Topology, statistics: Statistics) -> dict[str, int]:
    """Return the lengths of units that may take long, where others want their slot."""
    found: dict[str, int] = {}
    units, first = list(topology.units.items()), AT_FIRST if promised(topology) else None
    for name, live in units if len(units) > 1 else ():
        rows, seconds = statistics.last_runs.get(name, (0, 0.0))
        before = statistics.lengths.get(name, first)
        if before is None and not (live.runs > KNOWN_RUNS and seconds > FAIR_SECONDS):
            continue
        length = next_length(before or rows, rows, seconds, FAIR_SECONDS, FEWEST)
        if length < RUN_LIMITS.aggregate_rows:
            found[name] = length
    return found


def _promised_lengths(topology: Topology, statistics: Statistics) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, share in shares(topology).items():
        last = statistics.last_runs.get(name)
        before = statistics.lengths.get(name, AT_FIRST)
        found[name] = before if last is None else next_length(before, *last, share.seconds)
    return found


def next_length(
    before: int, rows: int, seconds: float, share: float, fewest: int = AT_FIRST
) -> int:
    """Return the most tuples of the next run, after one of so many tuples took so many seconds."""
    if 2 * rows < before:  # it does not tell what a full one takes
        return before
    step = min(MOST_STEP, max(LEAST_STEP, share / max(seconds, 1e-9)))
    return max(fewest, int(rows * step))


def shares(topology: Topology) -> dict[str, LatencyShare]:
    """Return what each unit has of the time, by those whose latency is promised."""
    found: dict[str, LatencyShare] = {}
    for query, latency in promised(topology):
        units = {live.unit.key: live for live in topology.units_of(query).values()}
        depths = _depths(topology, query, units)
        deepest = max([1, *depths.values()])
        for name, depth in depths.items():
            other = found.get(name, UNPROMISED)
            seconds, age = latency / (ROUNDS * deepest), latency * max(1, depth) / deepest
            found[name] = LatencyShare(min(seconds, other.seconds), min(age, other.age))
    return found


def latencies(topology: Topology) -> dict[str, float]:
    """Return the shortest `max_latency` of those that each unit works for."""
    found: dict[str, float] = {}
    for query, latency in promised(topology):
        for live in topology.units_of(query).values():
            found[live.unit.key] = min(latency, found.get(live.unit.key, math.inf))
    return found


def promised(topology: Topology) -> list[tuple[LiveQuery, float]]:
    """Return the queries that run and were promised a latency, with it."""
    return [
        (query, query.promise.contract.max_latency)
        for query in list(topology.queries.values())
        if query.promise is not None and math.isfinite(query.promise.contract.max_latency)
    ]


def _depths(topology: Topology, query: LiveQuery, units: Mapping[str, LiveUnit]) -> dict[str, int]:
    """Return how many units that take time are on the longest way to each, itself counted."""
    depths: dict[str, int] = {}

    def depth(buffer: str) -> int:
        live = topology.writers.get(buffer)
        if live is None or live.unit.key not in units:
            return 0
        if live.unit.key not in depths:
            own = 0 if isinstance(live.unit.root, Gate) else 1
            depths[live.unit.key] = own + max(map(depth, live.unit.inputs), default=0)
        return depths[live.unit.key]

    depth(query.input)
    return depths
