"""The run queue: which units have something to do, and which trains their next run would take.

Only units of which something has changed are asked: their buffers and the topology say which. With
a thousand of them a look at all before every decision would cost as much as the work.
"""

import math
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.engine.states.tuples.gate import GateState
from penstock.engine.trains.buffers import Train
from penstock.engine.trains.rows import SMALL_ROWS
from penstock.plan.operators import Bundle, FlowBundle, key
from penstock.runtime.loop.dispatch.gathering import BRIEF_SECONDS, gathers_until
from penstock.runtime.quality.shedding_controller import SheddingController
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_unit import READER, LiveUnit
from penstock.runtime.work.run_limits import RUN_LIMITS, RunLimits
from penstock.runtime.work.train_groups import Group, coalesced, recorded
from penstock.runtime.work.worker_pool import Workers
from penstock.schedule import ReadyUnit
from penstock.schedule.batching import Batching, Everything, Pace, WaitingTrain
from penstock.schedule.costs.sizes import Sizes

TRIFLE_ROWS = 100_000  # through a gate: some milliseconds
ALL_ROWS = sys.maxsize
SWEEP_SECONDS = 1.0  # while nothing is to be done, all are asked so often: nothing can be missed
EVERYTHING, NO_PACE = Everything(), Pace()


class Ready(NamedTuple):
    """A unit that can run, as strategies see it and as it is."""

    unit: ReadyUnit
    live: LiveUnit
    group: Group

    @property
    def is_trifle(self) -> bool:
        """Say whether it is a gate with so little to do that no worker need be asked."""
        trains = [train for trains in self.group.values() for train in trains]
        in_memory = all(train.rows.table is not None for train in trains)
        return _is_light_gate(self.live) and in_memory and self.unit.waiting_rows <= TRIFLE_ROWS

    @property
    def is_brief(self) -> bool:
        """Say whether a run over what waits takes a few milliseconds, as the last one did."""
        trains = [train for trains in self.group.values() for train in trains]
        few = sum(train.rows.count for train in trains) <= SMALL_ROWS
        return few and not self.live.replay and self.live.last_seconds <= BRIEF_SECONDS


@dataclass(slots=True)
class RunQueue:
    """The units that can run now; `batching` and `pace` say how much of what waits one takes.

    `lengths` are the most tuples of a run, by unit, where others want its slot; `prompt` are those
    that somebody needs who was promised to be told soon.
    """

    topology: Topology
    pool: Workers
    shedding_controller: SheddingController
    batching: Batching = EVERYTHING
    pace: Pace = NO_PACE
    lengths: Mapping[str, int] = field(default_factory=dict)
    prompt: Collection[str] = ()
    limits: RunLimits = RUN_LIMITS
    _ready: dict[str, Ready] = field(default_factory=dict)
    _gathering: dict[str, float] = field(default_factory=dict)  # until when
    _swept: float = 0.0

    def look(self, now: float) -> dict[str, Ready]:
        """Return the units that can run, by key; the caller removes those that it starts."""
        readers = self.topology.buffers.dirty()
        changed = {name.removeprefix(READER) for name in readers if name.startswith(READER)}
        changed |= self.topology.dirty
        self.topology.dirty.clear()
        changed |= {name for name, until in self._gathering.items() if until <= now}
        if not self._ready and self.pool.is_quiesced and now - self._swept >= SWEEP_SECONDS:
            self._swept = now
            changed |= self.topology.units.keys()
        for name in sorted(changed, key=self._is_no_gate):
            self._ask(name, now)
        return self._ready

    def _ask(self, name: str, now: float) -> None:
        self._ready.pop(name, None)
        self._gathering.pop(name, None)
        live = self.topology.units.get(name)
        if live is None or live.cause or name in self.topology.paused:
            return
        if self.pool.is_busy(live.reader) or live.waits_for_ahead:
            return  # it is dirty when that ends
        if isinstance(live.state, GateState) and not live.replay and self._is_waited_for(name):
            return  # what waits before a gate can still be dropped
        if not live.replay and self._goes_through_gates(live):
            return  # those behind them may take it together with this one
        group = self.group(live, now)
        if group is None:
            return
        if not live.replay and (until := self._gathers_until(live, group)) > now:
            self._gathering[name] = until
            self._stir_gates(live)
            return
        trains = [train for each in group.values() for train in each]
        if trains or live.must_end or live.replay or live.history:
            waiting = [train for each in self.waiting(live).values() for train in each]
            self._ready[name] = Ready(_ready_unit(name, trains, waiting, now), live, group)

    def _gathers_until(self, live: LiveUnit, group: Group) -> float:
        """Return until when a run waits for more, where nobody was promised to be told soon."""
        if live.unit.key in self.prompt or not isinstance(self.batching, Everything):
            return -math.inf
        sizes = self.shedding_controller.statistics.sizes.get(live.unit.key, Sizes())
        return gathers_until(live, group, sizes)

    def _stir_gates(self, live: LiveUnit) -> None:
        """Mark gates before a unit dirty: what waits there may close its windows."""
        for name in live.unit.inputs:
            writer = self.topology.writers.get(name)
            if writer is not None and isinstance(writer.state, GateState):
                self.topology.dirty.add(writer.unit.key)

    def _is_waited_for(self, name: str) -> bool:
        """Say whether a unit that wants no more has trains of this one to read.

        Its run marks this unit dirty again. One that is held does not count.
        """
        buffer = self.topology.buffers.get(name)
        behind = buffer.behind() if buffer is not None else []
        wanting = (each.removeprefix(READER) for each in behind)
        readers = (self.topology.units.get(n) for n in wanting if n not in self._gathering)
        return any(each is not None and not each.cause for each in readers)

    def _is_no_gate(self, name: str) -> bool:
        live = self.topology.units.get(name)
        return live is None or not _is_light_gate(live)

    def _goes_through_gates(self, live: LiveUnit) -> bool:
        """Say whether what waits for a bundle is about to be let through a gate."""
        bundle = live.unit.bundle
        if not isinstance(bundle, Bundle):
            return False
        source = self.topology.buffers.get(key(bundle.input))
        for reader in source.behind() if source is not None else ():
            gate = self._ready.get(reader.removeprefix(READER))
            if gate is not None and gate.is_trifle:
                self.topology.dirty.add(live.unit.key)  # it has to be asked again
                return True
        return False

    def group(self, live: LiveUnit, now: float) -> Group | None:
        """Return the trains of the unit's next run, or None while a recorded run must wait."""
        waiting = self.waiting(live)
        if live.replay:
            return recorded(waiting, live.replay[0].inputs)
        if live.must_end:
            return {}
        if live.ahead and (group := recorded(waiting, live.ahead[0].ranges)) is not None:
            return group
        live.ahead.clear()
        return self.next_group(live, waiting, now)

    def waiting(self, live: LiveUnit) -> dict[str, list[Train]]:
        """Return the trains that each input of a unit has for it."""
        return {
            name: buffer.waiting(live.reader)
            for name in live.unit.inputs
            if (buffer := self.topology.buffers.get(name)) is not None
        }

    def next_group(self, live: LiveUnit, waiting: Mapping[str, list[Train]], now: float) -> Group:
        """Return the trains of one run; one that punctuates is a run by itself."""
        for name, trains in waiting.items():
            if trains and trains[0].info.punctuation:
                return {name: trains[:1]}
        return {
            name: self._together(live, trains, now) for name, trains in waiting.items() if trains
        }

    def _together(self, live: LiveUnit, trains: list[Train], now: float) -> list[Train]:
        """Return how many of the trains one run takes: by the rule, and no more than it can."""
        limits = self.limits
        most = self.lengths.get(live.unit.key, limits.aggregate_rows)
        flows = live.unit.stateful is None or isinstance(live.unit.stateful, FlowBundle)
        if isinstance(live.state, GateState):  # which has no Spark that would change the order
            found = self.shedding_controller.taken(
                live, coalesced(trains, ALL_ROWS, limits.aggregate_bytes), now
            )
        elif not flows:
            found = coalesced(trains, min(most, limits.aggregate_rows), limits.aggregate_bytes)
        else:
            found = coalesced(trains, min(most, limits.flow_rows), limits.flow_bytes)
        if isinstance(self.batching, Everything):
            return found
        waiting = [WaitingTrain(t.rows.count, t.info.arrived, t.info.arrived) for t in found]
        return found[: max(1, self.batching.take(waiting, self.pace))]


def _is_light_gate(live: LiveUnit) -> bool:
    """Say whether it is a gate that needs no Spark."""
    return isinstance(live.state, GateState) and live.state.is_light


def _ready_unit(name: str, trains: list[Train], waiting: list[Train], now: float) -> ReadyUnit:
    return ReadyUnit(
        name,
        sum(train.rows.count for train in trains),
        min((train.info.arrived for train in trains), default=now),
        sum(train.info.size for train in trains),
        _due(waiting, now),
        _late(waiting, now),
    )


def _late(waiting: list[Train], now: float) -> float:
    """Return the share of the tuples that wait whose deadline is over."""
    late = sum(train.rows.count for train in waiting if train.info.deadline <= now)
    return late / sum(train.rows.count for train in waiting) if late else 0.0


def _due(waiting: list[Train], now: float) -> float:
    """Return the earliest deadline of what waits that can be kept, or the earliest where none can.

    Order is kept and nothing is dropped: what is late already must run before what is not, and
    would, if it counted, keep all that follows it from ever being in time.
    """
    deadlines = [train.info.deadline for train in waiting if train.rows.count]
    return min((each for each in deadlines if each > now), default=min(deadlines, default=math.inf))


def deadline_of_trains(trains: list[Train]) -> float:
    """Return the earliest deadline of the trains' tuples."""
    return min((train.info.deadline for train in trains if train.rows.count), default=math.inf)
