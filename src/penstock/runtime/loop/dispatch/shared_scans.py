"""Shared scans: units that are about to take the same tuples take them together, in one pass.

Queries that allow an error read a stream through a gate, the others read it as it is: they are
different bundles, and each would look at every tuple. As long as a gate drops nothing both get
the same, so what one pass makes of it is shared. How trains are cut and which runs there are is
recorded as if each went alone; a run that is done again does.
Only the supervisor's thread touches them, but for `Shared scan.shared`.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states.sharing.bundle import BundleState
from penstock.engine.states.sharing.passes import Pass
from penstock.engine.states.state import Run
from penstock.engine.states.tuples.gate import GateState
from penstock.engine.trains.buffers import Train
from penstock.plan.operators import Bundle, key
from penstock.plan.operators.bundles.member import Section
from penstock.plan.sharing.layout import Layout
from penstock.runtime.quality.run_lengths import KNOWN_RUNS
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_unit import READER, LiveUnit
from penstock.runtime.work.train_groups import Group, ranges_of, recorded
from penstock.runtime.work.worker_pool import Workers
from penstock.schedule.costs.sizes import Sizes

REMEMBERED = 64  # passes
APART, SOONER = 64, (1, 4, 16)  # every so many runs of a size each goes alone, and at first


@dataclass(frozen=True, slots=True)
class Extent:
    """Trains of a buffer, from the first to the last."""

    buffer: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Going:
    """A unit, and the trains that it takes."""

    live: LiveUnit
    group: Group


@dataclass(slots=True)
class SharedScan:
    """Units that go together, the one first whose tuples are looked at; `shares` add up to one."""

    going: list[Going]
    shares: list[float]
    passes: dict[tuple[str, ...], Pass]

    def shared(self, processor: Processor) -> list[list[pa.Table]]:
        """Return the partials of each unit's sections; none of any where that fails.

        Then each finds out for itself whose fault it is.
        """
        states = [state for each in self.going if isinstance(state := each.live.state, BundleState)]
        wanted = [state.wanted(thinned=False) for state in states]
        first, group = self.going[0].live, self.going[0].group
        rows = {name: [train.rows for train in trains] for name, trains in group.items()}
        run = Run(processor, first.unit, rows, (), (), thinned=False)
        every = [each for some in wanted for each in some]
        try:
            made = iter(self._pass(every).made(run))
        except Exception:
            return [[] for _ in states]
        return [[next(made) for _ in some] for some in wanted]

    def _pass(self, wanted: Sequence[tuple[Section, Layout]]) -> Pass:
        name = tuple(each.live.unit.key for each in self.going)
        found = self.passes.get(name)
        layouts = [layout for _, layout in wanted]
        if found is None or not _are_the_same(found.wanted, layouts):
            bundle = self.going[0].live.unit.bundle
            assert isinstance(bundle, Bundle)  # noqa: S101  (only such go together)
            if len(self.passes) >= REMEMBERED:
                self.passes.clear()
            found = self.passes[name] = Pass.over(wanted, bundle.input.schema)
        return found


@dataclass(slots=True)
class SharedScans:
    """Which units can scan together; `passes` are kept while their members are the same.

    In runs of a size of which it is not known what each takes alone nobody goes along: gates have
    to know that, above all when more comes than ever.
    """

    topology: Topology
    pool: Workers
    statistics: Statistics
    passes: dict[tuple[str, ...], Pass] = field(default_factory=dict)
    runs: Counter[tuple[tuple[str, ...], int]] = field(default_factory=Counter)

    def of(self, lead: LiveUnit, group: Group) -> SharedScan | None:
        """Return the units that scan with one that is about to take trains; None if none do."""
        mine = self.extent(lead, group)
        if mine is None or not _rows_of(group) or not self._may_go(lead):
            return None
        others = [each for each in self._beside(mine.buffer) if each is not lead]
        others = [each for each in others if self._may_go(each)]
        if not _is_gated(self.topology, lead):
            mine = next((e for each in others if (e := self._before(each, mine))), None)
        if mine is None:
            return None
        found = [Going(each, taken) for each in (lead, *others) if (taken := self._of(each, mine))]
        if len(found) < 2 or found[0].live is not lead:  # noqa: PLR2004  (nobody goes with it)
            return None
        rows = _rows_of(found[0].group)
        if not all(self._is_known(each.live, rows) for each in found):
            return None
        found.sort(key=lambda each: (_is_gated(self.topology, each.live), each.live.unit.key))
        name = tuple(each.live.unit.key for each in found), _size(rows)
        self.runs[name] += 1
        if _goes_alone(self.runs[name]):
            return None
        return SharedScan(found, self._shares(found, rows), self.passes)

    def extent(self, live: LiveUnit, group: Group) -> Extent | None:
        """Return the trains that a bundle's group was before it came through a gate.

        None where it has lost tuples there, or where its bundle makes something of them first.
        """
        bundle = live.unit.bundle
        if not isinstance(bundle, Bundle) or list(group) != [key(bundle.input)]:
            return None
        ((name, trains),) = group.items()
        if not trains or any(train.info.punctuation for train in trains):
            return None
        writer = self.topology.writers.get(name)
        if writer is None or not isinstance(writer.state, GateState):
            return Extent(name, *ranges_of(group)[name])
        passed = [writer.state.whole.get(train.info.number) for train in trains]
        ranges = [each for each in passed if each is not None]
        if len(ranges) < len(passed):
            return None
        return Extent(writer.unit.inputs[0], ranges[0][0], ranges[-1][1])

    def is_whole(self, live: LiveUnit, group: Group) -> bool:
        """Say whether a bundle behind a gate gets all that came to it."""
        is_gated = live.unit.bundle is not None and _is_gated(self.topology, live)
        return is_gated and not live.history and self.extent(live, group) is not None

    def _beside(self, buffer: str) -> Iterator[LiveUnit]:
        """Yield the units that read a buffer, or read it through a gate."""
        for live in self._readers(buffer):
            if isinstance(live.state, GateState):
                yield from self._readers(live.unit.key)
            else:
                yield live

    def _readers(self, buffer: str) -> list[LiveUnit]:
        found = self.topology.buffers.get(buffer)
        names = found.readers() if found is not None else ()
        units = (self.topology.units.get(each.removeprefix(READER)) for each in names)
        return [live for live in units if live is not None]

    def _may_go(self, live: LiveUnit) -> bool:
        if live.cause or live.replay or live.history or live.must_end:
            return False
        return not self.pool.is_busy(live.reader)

    def _is_known(self, live: LiveUnit, rows: int) -> bool:
        """Say whether it has often enough gone alone with about so many tuples."""
        found = self.statistics.sizes.get(live.unit.key, Sizes()).known.get(_size(rows))
        return found is not None and found.runs >= 2 - 2.0 ** (1 - KNOWN_RUNS)  # they decay

    def _waiting(self, live: LiveUnit) -> list[Train]:
        buffer = self.topology.buffers.get(live.unit.inputs[0])
        return buffer.waiting(live.reader) if buffer is not None else []

    def _before(self, live: LiveUnit, most: Extent) -> Extent | None:
        """Return what a unit behind a gate would take, where that begins what another takes."""
        if not _is_gated(self.topology, live) or not (trains := self._waiting(live)):
            return None
        found = self.extent(live, {live.unit.inputs[0]: trains})
        if found is None or found.first != most.first or found.last > most.last:
            return None
        return found

    def _of(self, live: LiveUnit, extent: Extent) -> Group | None:
        """Return the trains of a unit that are these, if they are the first that wait for it."""
        name, trains = live.unit.inputs[0], self._waiting(live)
        if not _is_gated(self.topology, live):
            found = recorded({name: trains}, {name: (extent.first, extent.last)})
            is_next = bool(trains) and trains[0].info.number == extent.first
            return found if found and is_next and self.extent(live, found) == extent else None
        group: Group = {name: trains}
        return group if trains and self.extent(live, group) == extent else None

    def _shares(self, going: Sequence[Going], rows: int) -> list[float]:
        """Return what each has of the pass: in proportion to what it took alone."""
        seconds = [self.statistics.sizes[each.live.unit.key].seconds(rows) for each in going]
        total = sum(seconds)
        return [each / total if total > 0 else 1 / len(seconds) for each in seconds]


def _goes_alone(run: int) -> bool:
    """Say whether in a run of a size each goes alone, so that it stays known what each costs.

    Sooner at first: compilers go on for a while.
    """
    return run % APART == 0 or run in SOONER


def _size(rows: int) -> int:
    """Return the name of a size, as `Sizes` has it."""
    return rows.bit_length()


def _rows_of(group: Group) -> int:
    return sum(train.rows.count for trains in group.values() for train in trains)


def _is_gated(topology: Topology, live: LiveUnit) -> bool:
    writer = topology.writers.get(live.unit.inputs[0])
    return writer is not None and isinstance(writer.state, GateState)


def _are_the_same(these: Sequence[object], those: Sequence[object]) -> bool:
    return len(these) == len(those) and all(map(lambda a, b: a is b, these, those))
