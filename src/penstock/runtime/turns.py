"""Turns: lets the strategy choose among the ready units, and runs them."""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.clock import Clock
from penstock.engine.buffers import Train
from penstock.engine.processor import Processor
from penstock.engine.profile import Sample, profile, sample_of
from penstock.engine.rows import in_memory
from penstock.engine.times import span_of
from penstock.errors import told
from penstock.model.trains import TrainInfo
from penstock.plan.bundles.member import Asking
from penstock.plan.operators import Bundle, Gate, Operator, Scan, Take, key
from penstock.runtime.crew import Crew
from penstock.runtime.culprits import find_culprits
from penstock.runtime.grouping import Group, ranges_of
from penstock.runtime.journal import Journal
from penstock.runtime.live_unit import Ahead, LiveUnit, Output
from penstock.runtime.plant import Plant
from penstock.runtime.readiness import Readiness, deadline_of_trains
from penstock.runtime.statistics import Statistics
from penstock.schedule import Strategy
from penstock.schedule.apportion import Profile
from penstock.schedule.guarded import Guarded

AHEAD_ROWS = 50_000  # fewer are aggregated before looking ahead pays


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run gave, and some of the tuples that it took where a profile is due."""

    outputs: dict[str, Output]
    sample: Sample | None


@dataclass(slots=True)
class Turns:
    """A unit runs once at a time; its runs are recorded before they happen.

    The strategy may be another one from one call to the next.
    """

    plant: Plant
    crew: Crew
    journal: Journal
    clock: Clock
    processor: Processor
    strategy: Strategy
    statistics: Statistics = field(default_factory=Statistics)
    deciding_seconds: float = 0.0
    readiness: Readiness = field(init=False)

    def __post_init__(self) -> None:
        """Be ready to look."""
        self.readiness = Readiness(self.plant, self.crew)

    def start(self, now: float) -> None:
        """Fill the free slots with ready units."""
        if self.crew.free_slots < 1:
            return
        began = time.perf_counter()
        ready = self.readiness.look(now)
        while ready and self.crew.free_slots > 0:
            chosen = self.strategy.next([each.unit for each in ready.values()], now)
            if chosen is None or chosen not in ready:
                self.deciding_seconds += time.perf_counter() - began
                return
            _, live, group = ready.pop(chosen)
            self.deciding_seconds += time.perf_counter() - began
            if isinstance(live.unit.bundle, Bundle) and _punctuates(group):
                # What a member can let go of early it does alone.
                self.plant.set_apart({member.key for member in live.unit.bundle.members})
                self.plant.stirred.add(chosen)
                return
            self._start_unit(live, group)
            began = time.perf_counter()
        self.deciding_seconds += time.perf_counter() - began
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
            for name, trains in self.readiness.waiting(live).items()
        }
        return self.readiness.next_group(live, waiting)

    def _start_ahead(self, live: LiveUnit, group: Group) -> None:
        rows = {name: [t.rows for t in group.get(name, ())] for name in live.unit.inputs}
        taken = {each.place for each in live.ahead}
        place = next(n for n in range(len(taken) + 1) if n not in taken)
        ahead = Ahead(ranges_of(group), place)
        live.ahead.append(ahead)
        began = time.perf_counter()

        def took(future: Future[object]) -> None:
            ahead.done = True  # what failed is tried by the run itself, which then says why
            self.plant.stirred.add(live.unit.key)
            self.statistics.spent(live.unit.key, time.perf_counter() - began)
            if future.exception() is None and isinstance(table := future.result(), pa.Table):
                ahead.partials = table

        self.crew.submit(
            f"unit:ahead:{live.unit.key}:{place}",
            lambda: self.processor.panes(live.unit, rows, ahead=place),
            took,
        )

    def _start_unit(self, live: LiveUnit, group: Group) -> None:
        number = live.runs + 1
        live.running = ranges_of(group)
        if live.replay:
            again = live.replay.popleft()
            live.keeping, live.cutting = again.keep, again.cut
        else:
            live.keeping, live.cutting = live.keep, live.next_cut()
            self.journal.record_run(live.reader, number, live.running, live.keep, live.cutting)
        before = (live.rows_in, live.rows_out, live.busy_seconds)
        needed = isinstance(self.strategy, Guarded) and self.strategy.needs_operators
        size = self.statistics.sample_size(live.unit, self.clock.now(), needed=needed)

        def work() -> Ran:
            outputs = live.execute(self.processor, number, group)
            rows = {name: [train.rows for train in trains] for name, trains in group.items()}
            return Ran(outputs, sample_of(live.unit, rows, size) if size else None)

        def settle(future: Future[object]) -> None:
            self.plant.stirred.add(live.unit.key)
            self._ran(live, number, group, future)
            if future.exception() is None:
                self._note(live, before)

        self.crew.submit(live.reader, work, settle)

    def _note(self, live: LiveUnit, before: tuple[int, int, float]) -> None:
        rows_in, rows_out, seconds = before
        if isinstance(live.unit.root, Gate | Take) and not live.asks_spark:
            self.statistics.light.add(live.unit.key)
        self.statistics.ran(
            live.unit.key,
            live.rows_in - rows_in,
            live.rows_out - rows_out,
            live.busy_seconds - seconds,
            self.clock.now(),
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
        ran = future.result()
        assert isinstance(ran, Ran)  # noqa: S101  (what the work returns)
        live.runs = number
        written = [self._append(root, group, ran.outputs[key(root)]) for root in live.unit.roots]
        self.statistics.wrote(
            live.unit.key,
            sum(train.rows.count for train in written),
            sum(train.info.size for train in written),
            self.clock.now(),
        )
        for name, trains in group.items():
            if trains and (source := self.plant.buffers.get(name)) is not None:
                source.advance(live.reader, trains[-1].info.number)
        if ran.sample is not None and any(each.num_rows for each in ran.sample.values()):
            self._profile(live, ran.sample)

    def _append(self, root: Operator, group: Group, output: Output) -> Train:
        buffer = self.plant.buffers.open(key(root), root.schema)
        train = self._train(root, buffer.written + 1, group, output)
        buffer.append(train)
        return train

    def _profile(self, live: LiveUnit, sample: Sample) -> None:
        """See what each operator of a unit does with some of the tuples it took."""
        began = time.perf_counter()

        def took(future: Future[object]) -> None:
            failed = future.exception() is not None  # the unit itself goes on without
            found = None if failed else future.result()
            seconds = time.perf_counter() - began
            shown = found if isinstance(found, Profile) else None
            self.statistics.took_profile(live.unit, shown, seconds)

        self.crew.submit(
            f"unit:profile:{live.unit.key}",
            lambda: profile(self.processor, live.unit, sample),
            took,
        )

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
            self.plant.stirred.add(live.unit.key)

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
            number,
            rows.count,
            size,
            arrived,
            first,
            last,
            mark,
            output.idle,
            output.punctuation,
            deadline_of_trains([train for each in group.values() for train in each]),
            max((train.info.depth for each in group.values() for train in each), default=0),
        )
        return Train(info, rows)


def _punctuates(group: Group) -> bool:
    return any(train.info.punctuation for trains in group.values() for train in trains)


def _numbers(first: int, last: int) -> str:
    return f"train {first}" if first == last else f"trains {first} to {last}"


def _with_trains(cause: str, trains: str) -> str:
    """Return a cause that says which trains met it, before its hint."""
    first, *rest = cause.splitlines() or [""]
    return "\n".join([f"{first} ({trains})" if trains else first, *rest])
