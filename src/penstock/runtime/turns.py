"""Turns: lets the strategy choose among the ready units, and runs them."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import pyarrow as pa

from penstock.clock import Clock
from penstock.engine.buffers import Train
from penstock.engine.processor import Processor
from penstock.engine.rows import SMALL_BYTES, SMALL_ROWS, in_memory
from penstock.engine.times import span_of
from penstock.errors import told
from penstock.model.trains import TrainInfo
from penstock.plan.bundles.member import Asking
from penstock.plan.operators import Bundle, FlowBundle, Operator, Scan, key
from penstock.runtime.crew import Crew
from penstock.runtime.culprits import find_culprits
from penstock.runtime.grouping import Group, coalesced, ranges_of, recorded
from penstock.runtime.journal import Journal
from penstock.runtime.live_unit import Ahead, LiveUnit, Output
from penstock.runtime.plant import Plant
from penstock.schedule import ReadyUnit, Strategy

# Coalescing beyond a local relation would not keep the rows' order.
FLOW_ROWS, FLOW_BYTES = SMALL_ROWS, SMALL_BYTES
AGGREGATE_ROWS = 500_000
AHEAD_ROWS = 50_000  # fewer are aggregated before looking ahead pays


@dataclass(frozen=True, slots=True)
class Turns:
    """A unit runs once at a time; its runs are recorded before they happen."""

    plant: Plant
    crew: Crew
    journal: Journal
    clock: Clock
    processor: Processor
    strategy: Strategy

    def start(self, now: float) -> None:
        """Fill the free slots with ready units."""
        if self.crew.free_slots < 1:
            return
        ready = self._ready(now)
        while ready and self.crew.free_slots > 0:
            chosen = self.strategy.next([each for each, _, _ in ready.values()], now)
            if chosen is None or chosen not in ready:
                return
            _, live, group = ready.pop(chosen)
            if isinstance(live.unit.bundle, Bundle) and _punctuates(group):
                # What a member can let go of early it does alone.
                self.plant.set_apart({member.key for member in live.unit.bundle.members})
                return
            self._start_unit(live, group)
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Let slots that nobody needs aggregate the next trains of units that are at work.

        That is not recorded: it changes nothing, and is done again where it is lost.
        """
        for live in self.plant.units.values():
            while self.crew.free_slots > 0 and self._may_look_ahead(live):
                group = self._after(live)
                if sum(t.rows.count for trains in group.values() for t in trains) < AHEAD_ROWS:
                    break
                self._start_ahead(live, group)

    def _may_look_ahead(self, live: LiveUnit) -> bool:
        if live.unit.aggregate is None or live.replay or live.cause or live.must_end:
            return False
        at_work = self.crew.is_busy(live.reader) or live.waits_for_ahead
        return at_work and len(live.ahead) < self.processor.slots

    def _after(self, live: LiveUnit) -> Group:
        """Return the trains of the run after those at work."""
        last: dict[str, int] = {}
        for ranges in (live.running, *(each.ranges for each in live.ahead)):
            last |= {name: number for name, (_, number) in ranges.items()}
        waiting = {
            name: [train for train in trains if train.info.number > last.get(name, 0)]
            for name, trains in self._waiting(live).items()
        }
        return _next_group(live, waiting)

    def _start_ahead(self, live: LiveUnit, group: Group) -> None:
        rows = {name: [t.rows for t in group.get(name, ())] for name in live.unit.inputs}
        taken = {each.place for each in live.ahead}
        place = next(n for n in range(len(taken) + 1) if n not in taken)
        ahead = Ahead(ranges_of(group), place)
        live.ahead.append(ahead)

        def took(future: Future[object]) -> None:
            ahead.done = True  # what failed is tried by the run itself, which then says why
            if future.exception() is None and isinstance(table := future.result(), pa.Table):
                ahead.partials = table

        self.crew.submit(
            f"unit:ahead:{live.unit.key}:{place}",
            lambda: self.processor.panes(live.unit, rows, ahead=place),
            took,
        )

    def _ready(self, now: float) -> dict[str, tuple[ReadyUnit, LiveUnit, Group]]:
        ready = {}
        for live in self.plant.units.values():
            if self.crew.is_busy(live.reader) or live.waits_for_ahead or live.cause:
                continue
            group = self._group(live)
            trains = [train for each in (group or {}).values() for train in each]
            if group is not None and (trains or live.must_end or live.replay or live.history):
                rows = sum(train.rows.count for train in trains)
                since = min((train.info.arrived for train in trains), default=now)
                ready[live.unit.key] = (ReadyUnit(live.unit.key, rows, since), live, group)
        return ready

    def _group(self, live: LiveUnit) -> Group | None:
        """Return the trains of the unit's next run, or None while a recorded run must wait."""
        waiting = self._waiting(live)
        if live.replay:
            return recorded(waiting, live.replay[0].inputs)
        if live.must_end:
            return {}
        if live.ahead and (group := recorded(waiting, live.ahead[0].ranges)) is not None:
            return group
        live.ahead.clear()
        return _next_group(live, waiting)

    def _waiting(self, live: LiveUnit) -> dict[str, list[Train]]:
        return {
            name: buffer.waiting(live.reader)
            for name in live.unit.inputs
            if (buffer := self.plant.buffers.get(name)) is not None
        }

    def _start_unit(self, live: LiveUnit, group: Group) -> None:
        number = live.runs + 1
        live.running = ranges_of(group)
        if live.replay:
            live.replay.popleft()
        else:
            self.journal.record_run(live.reader, number, ranges_of(group))
        self.crew.submit(
            live.reader,
            lambda: live.execute(self.processor, number, group),
            lambda future: self._ran(live, number, group, future),
        )

    def _ran(self, live: LiveUnit, number: int, group: Group, future: Future[object]) -> None:
        error = future.exception()
        if isinstance(error, Exception):
            live.put_back(number, ranges_of(group))
            if len(live.unit.roots) > 1:
                self._find_culprits(live, group)
                return
            live.cause = _with_trains(told(error), self._named(live, group))
            self.plant.fail_readers(live.unit, live.cause)
            return
        outputs = future.result()
        assert isinstance(outputs, dict)  # noqa: S101  (what `execute` returns)
        live.runs = number
        for root in live.unit.roots:
            buffer = self.plant.buffers.open(key(root), root.schema)
            buffer.append(self._train(root, buffer.written + 1, group, outputs[key(root)]))
        for name, trains in group.items():
            if trains and (source := self.plant.buffers.get(name)) is not None:
                source.advance(live.reader, trains[-1].info.number)

    def _find_culprits(self, live: LiveUnit, group: Group) -> None:
        """Let those that made a bundle fail run alone: the others go on without them."""
        members = live.unit.bundle.members if live.unit.bundle is not None else ()

        def fails(some: Sequence[Asking]) -> bool:
            try:
                live.probe(self.processor, group, some)
            except Exception:
                return True
            return False

        def found(future: Future[object]) -> None:
            culprits = future.result()
            assert isinstance(culprits, list)  # noqa: S101  (what `find_culprits` returns)
            self.plant.set_apart({member.key for member in culprits})

        self.crew.submit(live.reader, lambda: find_culprits(members, fails), found)

    def _named(self, live: LiveUnit, group: Group) -> str:
        """Return the trains of a run, as their streams' users know them."""
        queries = {key(query.root): query.name for query in self.plant.queries.values()}
        streams = {key(leaf): leaf.stream for leaf in live.unit.leaves if isinstance(leaf, Scan)}
        names = {name: f"node {name[:6]}" for name in group} | queries | streams
        return ", ".join(
            f"{_numbers(first, last)} of {names[name]}"
            for name, (first, last) in ranges_of(group).items()
        )

    def _train(self, root: Operator, number: int, group: Group, output: Output) -> Train:
        """Return a run's output as the next train of its root."""
        times = root.times
        first, last = (span_of(output.table, times[0].column) if times else None) or (None, None)
        arrivals = [train.info.arrived for each in group.values() for train in each]
        arrived = min(arrivals, default=self.clock.now())
        rows = in_memory(output.table)
        size, mark = rows.memory_bytes, output.watermark
        info = TrainInfo(
            number, rows.count, size, arrived, first, last, mark, output.idle, output.punctuation
        )
        return Train(info, rows)


def _next_group(live: LiveUnit, waiting: Mapping[str, list[Train]]) -> Group:
    """Return the trains of one run; one that punctuates is a run by itself."""
    for name, trains in waiting.items():
        if trains and trains[0].info.punctuation:
            return {name: trains[:1]}
    return {name: _together(live, trains) for name, trains in waiting.items() if trains}


def _punctuates(group: Group) -> bool:
    return any(train.info.punctuation for trains in group.values() for train in trains)


def _numbers(first: int, last: int) -> str:
    return f"train {first}" if first == last else f"trains {first} to {last}"


def _with_trains(cause: str, trains: str) -> str:
    """Return a cause that says which trains met it, before its hint."""
    first, *rest = cause.splitlines() or [""]
    return "\n".join([f"{first} ({trains})" if trains else first, *rest])


def _together(live: LiveUnit, trains: list[Train]) -> list[Train]:
    """Return how many of the trains one run takes."""
    if live.unit.stateful is not None and not isinstance(live.unit.stateful, FlowBundle):
        return coalesced(trains, AGGREGATE_ROWS)
    return coalesced(trains, FLOW_ROWS, FLOW_BYTES)
