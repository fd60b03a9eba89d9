"""Measuring: what a function, its split and its combination cost, on windows of the stream.

A flow is run in process over the sample, and its figures give the seconds of each phase. Splits
give the function on parts, which is what branches do; so one sample tells of several sizes. What
cannot be split in so many parts is no plan.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.functions.data.items import Items, StreamType
from penstock.functions.flows.program import Clock
from penstock.functions.flows.run import Delivered, Runner
from penstock.functions.operators.function import Call
from penstock.functions.tuning.curves import TimedWindow, fit
from penstock.functions.tuning.plans import CENTRAL, SpreadPlan, SpreadStrategy
from penstock.functions.tuning.sites import Costs, Phase
from penstock.functions.tuning.spread import flow_for

ROUNDS = 3  # of which the median counts
OF_LATE = 8  # windows that tell which size comes now
DISTRIBUTED = SpreadPlan(SpreadStrategy.DISTRIBUTE, (2,))


@dataclass(frozen=True, eq=False)
class SampledWindows:
    """Windows of a stream, all of one size."""

    type: StreamType
    table: pa.Table
    size: int


@dataclass(slots=True)
class PhaseSamples:
    """Samples of each phase, and the splits that are possible."""

    compute: list[TimedWindow] = field(default_factory=list)
    route: list[TimedWindow] = field(default_factory=list)
    merge: list[TimedWindow] = field(default_factory=list)
    splits: dict[int, list[TimedWindow]] = field(default_factory=dict)
    combines: dict[int, list[TimedWindow]] = field(default_factory=dict)

    def costs(self) -> Costs:
        """Return the curves, still without the ways to the function and from it."""
        return Costs(
            compute=fit(self.compute),
            route=fit(self.route),
            merge=fit(self.merge),
            splits={fan: fit(each) for fan, each in self.splits.items()},
            combines={fan: fit(each) for fan, each in self.combines.items()},
        )


def sampled(kind: StreamType, table: pa.Table) -> SampledWindows | None:
    """Return the windows of the size that is most common of late, or None without vectors.

    After a change of size most windows that are at hand may be of the old one.
    """
    items = Items.from_table(kind, table)
    if not len(items) or not kind.vectors:
        return None
    lengths = np.max([items.vectors(name).lengths for name in kind.vectors], axis=0)
    sizes, counts = np.unique(lengths[-OF_LATE:], return_counts=True)
    size = int(sizes[counts.argmax()])
    if not size:
        return None
    return SampledWindows(kind, items.take(lengths == size).table, size)


def measured(
    what: Call, sample: SampledWindows, fans: tuple[int, ...], clock: Clock, rounds: int = ROUNDS
) -> PhaseSamples:
    """Run the function, distributed and split in each of `fans`, and note the seconds."""
    found = PhaseSamples()
    for _ in range(rounds):
        for phase, seconds in _phases(what, CENTRAL, sample, clock):
            if phase is Phase.COMPUTE:
                found.compute.append(TimedWindow(sample.size, seconds))
        for phase, seconds in _phases(what, DISTRIBUTED, sample, clock):
            if phase is not Phase.COMPUTE:
                kept = found.route if phase is Phase.PARTITION else found.merge
                kept.append(TimedWindow(sample.size, seconds))
        for fan in fans if what.function.split is not None else ():
            _note_split(found, what, sample, fan, clock)
    return found


def _note_split(
    found: PhaseSamples, what: Call, sample: SampledWindows, fan: int, clock: Clock
) -> None:
    split = what.function.split
    if split is None or not split.allows(fan) or sample.size % fan:
        return
    for phase, seconds in _phases(what, SpreadPlan(SpreadStrategy.SPLIT, (fan,)), sample, clock):
        match phase:
            case Phase.PARTITION:
                found.splits.setdefault(fan, []).append(TimedWindow(sample.size, seconds))
            case Phase.COMBINE:
                found.combines.setdefault(fan, []).append(TimedWindow(sample.size, seconds))
            case Phase.COMPUTE:
                found.compute.append(TimedWindow(sample.size // fan, seconds / fan))


def _phases(
    what: Call, plan: SpreadPlan, sample: SampledWindows, clock: Clock
) -> Iterator[tuple[Phase, float]]:
    """Yield the seconds of each phase for one window; nothing where windows were withheld."""
    runner = Runner(flow_for(what, plan), (sample.type,))
    delivered, _ = runner.step(runner.fresh(), {0: sample.table}, ended=True, clock=clock)
    if delivered.withheld:
        return
    for phase, seconds in _seconds(delivered).items():
        yield phase, seconds / sample.table.num_rows


def _seconds(delivered: Delivered) -> Mapping[Phase, float]:
    found: dict[Phase, float] = {}
    for each in delivered.figures:
        phase = Phase(each.phase)
        found[phase] = found.get(phase, 0.0) + each.seconds
    return found
