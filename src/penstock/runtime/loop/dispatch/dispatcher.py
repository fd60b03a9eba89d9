"""Turns: lets the strategy choose among the ready units, and runs them."""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import pyarrow as pa

from penstock.clock import Clock
from penstock.engine.spark.application.spark_life import refuse_dead
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.spark.jobs.profile import Sample, profile, sample_of
from penstock.engine.states.state import Decided
from penstock.engine.states.tuples.gate import GateState
from penstock.engine.states.tuples.take import TakeState
from penstock.engine.trains.buffers import Train
from penstock.errors import describe
from penstock.model.trains import TrainInfo
from penstock.plan.operators import Bundle, JoinBundle, Operator, Scan, key
from penstock.plan.operators.bundles.member import Asking
from penstock.runtime.durable.journal import Journal
from penstock.runtime.loop.dispatch.failure_bisection import bisect_failures
from penstock.runtime.loop.dispatch.look_ahead import LookingAhead
from penstock.runtime.loop.dispatch.run_queue import Ready, RunQueue, deadline_of_trains
from penstock.runtime.loop.dispatch.shared_scans import SharedScan, SharedScans
from penstock.runtime.quality.shedding_controller import SheddingController
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_unit import LiveUnit, Output
from penstock.runtime.work.moments import Moments
from penstock.runtime.work.run_limits import RUN_LIMITS, RunLimits
from penstock.runtime.work.train_groups import Group, ranges_of
from penstock.runtime.work.worker_pool import Workers, outcome
from penstock.schedule import Strategy
from penstock.schedule.costs.apportion import UnitProfile
from penstock.schedule.strategies.guarded import Guarded


@dataclass(frozen=True, slots=True)
class UnitRun:
    """What a run gave, and some of the tuples that it took where a profile is due."""

    outputs: dict[str, Output]
    sample: Sample | None


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that is recorded: `before` are its unit's figures ahead of it; it began `at`."""

    live: LiveUnit
    number: int
    group: Group
    before: tuple[int, int, float]
    sample: int
    thinned: bool
    at: float


@dataclass(slots=True)
class Dispatcher:
    """A unit runs once at a time; its runs are recorded before they happen.

    The strategy may be another one from one call to the next.
    """

    topology: Topology
    pool: Workers
    journal: Journal
    clock: Clock
    processor: Processor
    strategy: Strategy
    statistics: Statistics = field(default_factory=Statistics)
    limits: RunLimits = RUN_LIMITS
    deciding_seconds: float = 0.0
    run_queue: RunQueue = field(init=False)
    shared_scans: SharedScans = field(init=False)
    looking_ahead: LookingAhead = field(init=False)

    def __post_init__(self) -> None:
        """Be ready to look."""
        shedding_controller = SheddingController(self.topology, self.statistics)
        self.run_queue = RunQueue(self.topology, self.pool, shedding_controller, limits=self.limits)
        self.shared_scans = SharedScans(self.topology, self.pool, self.statistics)
        self.looking_ahead = LookingAhead(
            self.topology, self.pool, self.processor, self.statistics, self.run_queue, self.clock
        )

    def start(self, now: float) -> None:
        """Fill the free slots with ready units."""
        if self.pool.free_slots < 1:
            return
        began = time.perf_counter()
        ready = self._through_gates(now)
        while ready and self.pool.free_slots > 0:
            chosen = self.strategy.next([each.unit for each in ready.values()], now)
            if chosen is None or chosen not in ready:
                self.deciding_seconds += time.perf_counter() - began
                return
            _, live, group = ready.pop(chosen)
            self.deciding_seconds += time.perf_counter() - began
            if isinstance(live.unit.bundle, Bundle | JoinBundle) and _punctuates(group):
                # What a member can let go of early it does alone.
                self.topology.set_apart({member.key for member in live.unit.bundle.members})
                self.topology.dirty.add(chosen)
                return
            if (shared_scan := self.shared_scans.of(live, group)) is not None:
                for each in shared_scan.going:
                    ready.pop(each.live.unit.key, None)
                self._start_shared_scan(shared_scan)
            else:
                self._start_unit(live, group)
            began = time.perf_counter()
        self.deciding_seconds += time.perf_counter() - began
        self.looking_ahead.start()

    def start_brief(self, now: float) -> None:
        """Start the ready units that need no Spark for what waits; they leave slots soon."""
        ready = self._through_gates(now)
        for name, each in list(ready.items()):
            if self.pool.free_slots > 0 and each.is_brief:
                del ready[name]
                self._start_unit(each.live, each.group)

    def _through_gates(self, now: float) -> dict[str, Ready]:
        """Return who can run once gates have let through what waits before them, if it is little.

        That takes no time worth a worker, and others wait for it.
        """
        ready = self.run_queue.look(now)
        while found := [each for each in ready.values() if each.is_trifle]:
            for _, live, group in found:
                del ready[live.unit.key]
                begun = self._begin(live, group)
                work, settle = partial(self._execute, begun), partial(self._settle, begun)
                self.pool.do_here(work, settle)
            ready = self.run_queue.look(now)
            if not ready:  # else whoever goes on calls when it is done
                self.pool.ask_again()
        return ready

    def _start_unit(self, live: LiveUnit, group: Group) -> None:
        begun = self._begin(live, group)
        work, settle = partial(self._execute, begun), partial(self._settle, begun)
        self.pool.submit(live.reader, work, settle)

    def _start_shared_scan(self, shared_scan: SharedScan) -> None:
        """Start units together; each run is recorded, and succeeds or fails, by itself."""
        begun = [self._begin(each.live, each.group) for each in shared_scan.going]

        def work() -> tuple[float, list[Future[object]]]:
            began = time.perf_counter()
            shared = shared_scan.shared(self.processor)
            took = time.perf_counter() - began
            pairs = zip(begun, shared, strict=True)
            return took, [outcome(partial(self._execute, *each)) for each in pairs]

        def settle(future: Future[object]) -> None:
            took, outcomes = cast("tuple[float, list[Future[object]]]", future.result())
            for each, share, result in zip(begun, shared_scan.shares, outcomes, strict=True):
                each.live.busy_seconds += share * took
                self._settle(each, result, alone=False)

        first, *along = (each.live.reader for each in begun)
        self.pool.submit(first, work, settle, along)

    def _begin(self, live: LiveUnit, group: Group) -> Begun:
        """Record a run before it happens."""
        number, thinned = live.runs + 1, True
        live.running = ranges_of(group)
        if live.replay:
            again = live.replay.popleft()
            live.decided = Decided(again.keeps, again.cut, again.time_outs)
        else:
            live.decided = decided = self._decided(live, group)
            self.journal.record_run(live.reader, number, live.running, decided.keeps, decided.cut)
            thinned = not self.shared_scans.is_whole(live, group)
        before = (live.rows_in, live.rows_out, live.busy_seconds)
        needed = isinstance(self.strategy, Guarded) and self.strategy.needs_operators
        size = self.statistics.sample_size(live.unit, self.clock.now(), needed=needed)
        return Begun(live, number, group, before, size, thinned, time.perf_counter())

    def _execute(self, run: Begun, shared: Sequence[pa.Table] = ()) -> UnitRun:
        live, group = run.live, run.group
        note = partial(self.journal.note_time_outs, live.reader, run.number)
        outputs = live.execute(
            self.processor, run.number, group, note, thinned=run.thinned, shared=shared
        )
        rows = {name: [train.rows for train in trains] for name, trains in group.items()}
        return UnitRun(outputs, sample_of(live.unit, rows, run.sample) if run.sample else None)

    def _settle(self, run: Begun, future: Future[object], *, alone: bool = True) -> None:
        self.topology.dirty.add(run.live.unit.key)
        self._ran(run.live, run.number, run.group, future)
        if future.exception() is None:
            self._note(run, alone=alone)

    def _decided(self, live: LiveUnit, group: Group) -> Decided:
        if not isinstance(live.state, GateState):
            return Decided()
        trains = [train for each in group.values() for train in each]
        controller = self.run_queue.shedding_controller
        return live.state.decided(controller.keeps(live, trains, self.clock.now()))

    def _note(self, run: Begun, *, alone: bool) -> None:
        live, now = run.live, self.clock.now()
        rows_in, rows_out, seconds = run.before
        if isinstance(live.state, GateState | TakeState) and live.state.is_light:
            self.statistics.light.add(live.unit.key)
        self.statistics.ran(
            live.unit.key,
            live.rows_in - rows_in,
            live.rows_out - rows_out,
            live.busy_seconds - seconds,
            now,
            alone=alone,
        )
        if run.number > 1:  # the first is slower than any other
            took = time.perf_counter() - run.at if alone else live.busy_seconds - seconds
            self.statistics.timings.worked(live.unit.key, took, now)

    def _ran(self, live: LiveUnit, number: int, group: Group, future: Future[object]) -> None:
        error = future.exception()
        if isinstance(error, Exception):
            live.put_back(number, ranges_of(group))
            for name in group:
                self._stir_gate(name)
            if len(live.unit.roots) > 1:
                self._find_culprits(live, group)
                return
            live.cause = _with_trains(describe(error), self._named(live, group))
            self.topology.fail_readers(live.unit, live.cause)
            return
        ran = future.result()
        assert isinstance(ran, UnitRun)  # noqa: S101  (what the work returns)
        live.runs, live.last_ended = number, self.clock.now()
        written = [self._append(root, group, ran.outputs[key(root)]) for root in live.unit.roots]
        now = self.clock.now()
        self.statistics.timings.appended(live.unit.key, (each.info for each in written), now)
        if isinstance(live.state, GateState):
            live.state.note_whole(live.decided, ranges_of(group), written[0].info.number)
        self.statistics.wrote(
            live.unit.key,
            sum(train.rows.count for train in written),
            sum(train.info.size for train in written),
            now,
        )
        for name, trains in group.items():
            if trains and (source := self.topology.buffers.get(name)) is not None:
                source.advance(live.reader, trains[-1].info.number)
            self._stir_gate(name)
        if ran.sample is not None and any(each.num_rows for each in ran.sample.values()):
            self._profile(live, ran.sample)

    def _stir_gate(self, buffer: str) -> None:
        """Mark a gate dirty that waited for a unit behind it."""
        writer = self.topology.writers.get(buffer)
        if writer is not None and isinstance(writer.state, GateState):
            self.topology.dirty.add(writer.unit.key)

    def _append(self, root: Operator, group: Group, output: Output) -> Train:
        buffer = self.topology.buffers.open(key(root), root.schema)
        train = self._train(buffer.written + 1, group, output)
        buffer.append(train)
        return train

    def _profile(self, live: LiveUnit, sample: Sample) -> None:
        """See what each operator of a unit does with some of the tuples it took."""
        began = time.perf_counter()

        def took(future: Future[object]) -> None:
            failed = future.exception() is not None  # the unit itself goes on without
            found = None if failed else future.result()
            seconds = time.perf_counter() - began
            shown = found if isinstance(found, UnitProfile) else None
            self.statistics.took_profile(live.unit, shown, seconds)

        self.pool.submit(
            f"unit:profile:{live.unit.key}",
            lambda: profile(self.processor, live.unit, sample),
            took,
        )

    def _find_culprits(self, live: LiveUnit, group: Group) -> None:
        """Take failing members out of a bundle to run alone; the others go on."""
        members = live.unit.bundle.members if live.unit.bundle is not None else ()

        def fails(some: Sequence[Asking]) -> bool:
            try:
                live.probe(self.processor, group, some)
            except Exception as error:
                refuse_dead(error)
                return True
            return False

        def found(future: Future[object]) -> None:
            failing = future.result()
            assert isinstance(failing, list)  # noqa: S101  (what `find_culprits` returns)
            self.topology.set_apart({member.key for member in failing})
            self.topology.dirty.add(live.unit.key)

        self.pool.submit(live.reader, lambda: bisect_failures(members, fails), found)

    def _named(self, live: LiveUnit, group: Group) -> str:
        """Return the trains of a run, as their streams' users know them."""
        queries = {key(query.root): query.name for query in self.topology.queries.values()}
        streams = {key(leaf): leaf.stream for leaf in live.unit.leaves if isinstance(leaf, Scan)}
        names = {name: f"node {name[:6]}" for name in group} | queries | streams
        return ", ".join(
            f"{_numbers(first, last)} of {names[name]}"
            for name, (first, last) in ranges_of(group).items()
        )

    def _train(self, number: int, group: Group, output: Output) -> Train:
        """Return a run's output as the next train of its root."""
        first, last = output.span or (None, None)
        now = self.clock.now()
        moments = output.moments or Moments(now, now)
        rows = output.rows
        size, mark = rows.size, output.watermark
        info = TrainInfo(
            number,
            rows.count,
            size,
            moments.arrived,
            first,
            last,
            mark,
            output.idle,
            output.punctuation,
            deadline_of_trains([train for each in group.values() for train in each]),
            max((train.info.depth for each in group.values() for train in each), default=0),
            moments.ready,
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
