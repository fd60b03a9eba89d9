"""The supervisor: one thread that looks, decides and lets others act.

    sources --cut--> journal --read--> buffers --run units--> buffers --deliver--> sinks
                                     (a pool of `slots` threads)     (a pool of its own)

Order is kept because a stream is read, a unit runs and a query delivers once at a time. Changes
and checkpoints happen at rest: no new work is started until what runs has ended.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.clock import Clock
from penstock.engine.buffers import Train
from penstock.engine.processor import Processor
from penstock.engine.rows import SMALL_ROWS, in_memory
from penstock.engine.times import span_of
from penstock.errors import PenstockError
from penstock.model.definitions import QueryState
from penstock.model.trains import TrainInfo
from penstock.runtime.checkpoint import write_checkpoint
from penstock.runtime.feed import Cut, Feed
from penstock.runtime.journal import Journal
from penstock.runtime.live_query import LiveQuery, Tap
from penstock.runtime.live_unit import LiveUnit, Output
from penstock.runtime.plant import Plant
from penstock.schedule import ReadyUnit, Strategy

POLL_SECONDS = 0.02  # how often a silent source is asked; files and clocks do not call
AHEAD_TRAINS = 4  # trains that a source may be ahead of its slowest reader
TINY_AHEAD = 64  # tiny trains are run together, so more of them may wait
AHEAD_ROWS = 2_000_000
RETRY_SOURCE_SECONDS = 1.0
DELIVERY_THREADS = 4
FLOW_ROWS = SMALL_ROWS  # coalescing beyond a local relation would not keep the rows' order
AGGREGATE_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Settings:
    """How the supervisor works."""

    checkpoint_seconds: float = 10.0
    slots: int | None = None


class Supervisor:
    """Runs a plant. Only its own thread, or a thread inside `at_rest`, touches the plant."""

    def __init__(
        self,
        plant: Plant,
        processor: Processor,
        journal: Journal,
        strategy: Strategy,
        clock: Clock,
        state_directory: Path,
        settings: Settings = Settings(),
    ) -> None:
        """Be ready; `start` begins."""
        self.plant, self.processor, self.journal = plant, processor, journal
        self.strategy, self.clock, self.settings = strategy, clock, settings
        self.state_directory = state_directory
        self.taps: list[Tap] = []
        self.fatal: PenstockError | None = None
        self._wake = threading.Condition()
        self._done: list[Callable[[], None]] = []
        self._busy: set[str] = set()
        self._resting = 0
        self._rest_lock = threading.RLock()
        self._stopping = False
        self._woken = False
        self._dirty = False
        self._next_checkpoint = 0.0
        slots = settings.slots or processor.slots
        self._slots = slots
        self._workers = ThreadPoolExecutor(slots, thread_name_prefix="penstock-unit")
        self._fetchers = ThreadPoolExecutor(slots, thread_name_prefix="penstock-read")
        self._carriers = ThreadPoolExecutor(DELIVERY_THREADS, thread_name_prefix="penstock-deliver")
        self._thread = threading.Thread(target=self._loop, name="penstock", daemon=True)

    # -- for other threads ---------------------------------------------------------------

    def start(self) -> None:
        """Begin to work."""
        self._next_checkpoint = self.clock.now() + self.settings.checkpoint_seconds
        self._thread.start()

    def stop(self) -> None:
        """Finish what runs, write a checkpoint, end."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        self._fetchers.shutdown()
        self._workers.shutdown()
        self._carriers.shutdown()

    def wake(self) -> None:
        """Look again at once: something has arrived."""
        with self._wake:
            self._woken = True
            self._wake.notify_all()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Hold everything still for a change; a checkpoint closes it."""
        with self._wake:
            self._resting += 1
            self._wake.notify_all()
        try:
            with self._rest_lock:
                self._come_to_rest()
                yield
                self.checkpoint()
        finally:
            with self._wake:
                self._resting -= 1
                self._woken = True
                self._wake.notify_all()

    def _come_to_rest(self) -> None:
        self._settle()
        while self._busy:
            with self._wake:
                if not self._done:
                    self._wake.wait(POLL_SECONDS)
            self._settle()

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Return once every source has ended and everything is delivered; False at a time-out."""
        until = None if timeout is None else self.clock.now() + timeout
        with self._wake:
            while not self._is_idle():
                if self._stopping or self.fatal or (until and self.clock.now() >= until):
                    return False
                self._wake.wait(0.05)
            return True

    # -- the loop ------------------------------------------------------------------------

    def _loop(self) -> None:
        while True:
            with self._wake:
                while self._resting:  # a lock alone is not fair: the loop would take it again
                    self._wake.wait(POLL_SECONDS)
            try:
                with self._rest_lock:
                    if self._step():
                        return
            except PenstockError as error:
                # A journal that cannot be written: nothing may run that is not recorded.
                self.fatal = error
                with self._wake:
                    self._wake.notify_all()
                return

    def _step(self) -> bool:
        """Take what has ended, start what can be started, sleep; say whether it is over."""
        self._settle()
        halted = self._stopping
        if self._stopping and not self._busy:
            self.checkpoint()
            return True
        now = self.clock.now()
        if not halted and (self.plant.retired() or (self._dirty and now >= self._next_checkpoint)):
            halted = True
            if not self._busy:
                self._retire()
                self.checkpoint()
                halted = False
        if not halted:
            self._start_work(now)
        with self._wake:
            if not self._done and not self._woken:
                self._wake.wait(POLL_SECONDS)
            self._woken = False
        return False

    def _settle(self) -> None:
        with self._wake:
            done, self._done = self._done, []
        for finish in done:
            finish()

    def _start_work(self, now: float) -> None:
        self._end_by_deadline(now)
        for query in list(self.plant.queries.values()):
            self._start_delivery(query)
        self._start_units(now)
        for feed in list(self.plant.feeds.values()):
            self._start_feed(feed, now)

    def _free_slots(self) -> int:
        return self._slots - sum(1 for name in self._busy if name.startswith("unit:"))

    def _submit(
        self,
        pool: ThreadPoolExecutor,
        name: str,
        work: Callable[[], object],
        finish: Callable[[Future[object]], None],
    ) -> None:
        self._busy.add(name)
        self._dirty = True

        def settle(future: Future[object]) -> None:
            def done() -> None:
                self._busy.discard(name)
                finish(future)

            with self._wake:
                self._done.append(done)
                self._wake.notify_all()

        pool.submit(work).add_done_callback(settle)

    # -- sources -------------------------------------------------------------------------

    def _start_feed(self, feed: Feed, now: float) -> None:
        name = f"feed:{feed.key}"
        buffer = self.plant.buffers.get(feed.key)
        if buffer is None or name in self._busy or not buffer.readers() or now < feed.retry_at:
            return
        unread = buffer.unread()
        rows = sum(train.rows.count for train in unread)
        if rows >= AHEAD_ROWS or len(unread) >= (AHEAD_TRAINS if rows > SMALL_ROWS else TINY_AHEAD):
            return
        try:
            cut = feed.cut(self.journal)
        except PenstockError as error:
            self._feed_failed(feed, None, error, now)
            return
        if cut is None:
            return
        self._submit(
            self._fetchers,
            name,
            lambda: feed.read(cut, self.clock.now()),
            lambda future: self._feed_read(feed, cut, future),
        )

    def _feed_read(self, feed: Feed, cut: Cut, future: Future[object]) -> None:
        error = future.exception()
        if error is None:
            train = future.result()
            assert isinstance(train, Train)  # noqa: S101  (what `read` returns)
            self._arrived(feed, train)
        elif isinstance(error, PenstockError | OSError):
            self._feed_failed(feed, cut, error, self.clock.now())
        else:
            raise error

    def _arrived(self, feed: Feed, train: Train) -> None:
        buffer = self.plant.buffers.get(feed.key)
        if buffer is not None:
            buffer.append(train)
        feed.recovered()
        feed.meter.passed(train.rows.count, self.clock.now())

    def _feed_failed(self, feed: Feed, cut: Cut | None, error: BaseException, now: float) -> None:
        feed.failed(str(error), now + RETRY_SOURCE_SECONDS)
        if cut is not None:
            feed.put_back(cut)

    # -- units ---------------------------------------------------------------------------

    def _start_units(self, now: float) -> None:
        ready: dict[str, tuple[ReadyUnit, LiveUnit, dict[str, list[Train]]]] = {}
        for live in self.plant.units.values():
            if live.reader in self._busy or live.cause:
                continue
            inputs = self._group(live)
            trains = [train for each in (inputs or {}).values() for train in each]
            if trains or (inputs is not None and live.must_end):
                rows = sum(train.rows.count for train in trains)
                since = min((train.info.arrived for train in trains), default=now)
                ready[live.unit.key] = (ReadyUnit(live.unit.key, rows, since), live, inputs)
        while ready and self._free_slots() > 0:
            chosen = self.strategy.next([each for each, _, _ in ready.values()], now)
            if chosen is None or chosen not in ready:
                return
            _, live, inputs = ready.pop(chosen)
            self._start_unit(live, inputs)

    def _group(self, live: LiveUnit) -> dict[str, list[Train]] | None:
        """Return the trains of the unit's next run, or None while a recorded run must wait."""
        waiting = {
            name: buffer.waiting(live.reader)
            for name in live.unit.inputs
            if (buffer := self.plant.buffers.get(name)) is not None
        }
        if live.replay:
            return _recorded(waiting, live.replay[0].inputs)
        if live.must_end:
            return {}
        limit = AGGREGATE_ROWS if live.unit.aggregate is not None else FLOW_ROWS
        return {name: _coalesced(trains, limit) for name, trains in waiting.items() if trains}

    def _start_unit(self, live: LiveUnit, inputs: dict[str, list[Train]]) -> None:
        number = live.runs + 1
        if live.replay:
            live.replay.popleft()
        else:
            self.journal.record_run(live.reader, number, _ranges(inputs))
        self._submit(
            self._workers,
            live.reader,
            lambda: live.execute(self.processor, number, inputs),
            lambda future: self._unit_ran(live, number, inputs, future),
        )

    def _unit_ran(
        self, live: LiveUnit, number: int, inputs: dict[str, list[Train]], future: Future[object]
    ) -> None:
        error = future.exception()
        if error is not None:
            live.put_back(number, _ranges(inputs))
            live.cause = _told(error)
            self.plant.fail_readers(live.unit.key, live.cause)
            return
        output = future.result()
        assert isinstance(output, Output)  # noqa: S101  (what `execute` returns)
        live.runs = number
        buffer = self.plant.buffers.open(live.unit.key, live.unit.root.schema)
        times = live.unit.root.times
        span = span_of(output.table, times[0].column) if times else None
        arrived = min(
            (train.info.arrived for each in inputs.values() for train in each),
            default=self.clock.now(),
        )
        rows = in_memory(output.table)
        first, last = span or (None, None)
        info = TrainInfo(
            number, rows.count, rows.memory_bytes, arrived, first, last, output.watermark
        )
        buffer.append(Train(info, rows))
        for name, trains in inputs.items():
            if trains and (source := self.plant.buffers.get(name)) is not None:
                source.advance(live.reader, trains[-1].info.number)

    # -- deliveries ----------------------------------------------------------------------

    def _start_delivery(self, query: LiveQuery) -> None:
        buffer = self.plant.buffers.get(query.input)
        if buffer is None or query.reader in self._busy or query.state is not QueryState.RUNNING:
            return
        waiting = {query.input: buffer.waiting(query.reader)}
        if query.replay:
            waiting = _recorded(waiting, query.replay[0].inputs) or {}
        trains = _coalesced(waiting.get(query.input, []), AGGREGATE_ROWS)
        if query.replay:
            trains = waiting.get(query.input, [])
        if not trains:
            return
        number = query.runs + 1
        if query.replay:
            query.replay.popleft()
        elif any(train.rows.count for train in trains):
            self.journal.record_run(query.reader, number, _ranges({query.input: trains}))
        else:
            self._passed(query, trains)  # nothing to deliver: nothing to remember
            return
        self._submit(
            self._carriers,
            query.reader,
            lambda: query.deliver(trains, self.journal, self.clock, self.taps),
            lambda future: self._delivered(query, number, trains, future),
        )

    def _delivered(
        self, query: LiveQuery, number: int, trains: list[Train], future: Future[object]
    ) -> None:
        error = future.exception()
        if error is not None:
            query.put_back(number, _ranges({query.input: trains}))
            self.plant.set_state(query, QueryState.FAILED, _told(error))
            return
        query.runs = number
        self._passed(query, trains)

    def _passed(self, query: LiveQuery, trains: list[Train]) -> None:
        if (buffer := self.plant.buffers.get(query.input)) is not None:
            buffer.advance(query.reader, trains[-1].info.number)
        if trains[-1].info.is_end:
            self.plant.set_state(query, QueryState.FINISHED, "")
            query.end()

    def _end_by_deadline(self, now: float) -> None:
        for query in self.plant.queries.values():
            if query.deadline is not None and now >= query.deadline:
                query.deadline = None
                self.plant.end_takes(query)

    # -- rest ----------------------------------------------------------------------------

    def _retire(self) -> None:
        """Let go of queries that have ended, and of what only they needed."""
        for query in self.plant.retired():
            query.close()
            self.plant.finished[query.name.lower()] = self.plant.queries.pop(query.name.lower())
        self.reconnect()

    def reconnect(self, standing: Iterable[str] = ()) -> None:
        """Cut the graph anew after a change; only at rest. Nodes in `standing` keep units."""
        plant = self.plant
        plant.connect(self.strategy.cut(plant.graph, plant.standing() | set(standing)))

    def checkpoint(self) -> None:
        """Write down everything; only at rest."""
        write_checkpoint(self.plant, self.journal, self.state_directory)
        self._dirty = False
        self._next_checkpoint = self.clock.now() + self.settings.checkpoint_seconds

    def _is_idle(self) -> bool:
        if self._busy or self._done or self.plant.retired():
            return False
        return self.plant.is_drained()


def _coalesced(trains: list[Train], limit: int) -> list[Train]:
    """Return the first trains that together stay within `limit` rows, at least one."""
    taken, rows = [], 0
    for train in trains:
        if taken and rows + train.rows.count > limit:
            break
        taken.append(train)
        rows += train.rows.count
    return taken


def _recorded(
    waiting: dict[str, list[Train]], ranges: "dict[str, tuple[int, int]]"
) -> dict[str, list[Train]] | None:
    """Return the trains of a recorded run, or None while they are not all there."""
    found = {}
    for name, (first, last) in ranges.items():
        trains = [t for t in waiting.get(name, []) if first <= t.info.number <= last]
        if len(trains) != last - first + 1:
            return None
        found[name] = trains
    return found


def _ranges(inputs: dict[str, list[Train]]) -> dict[str, tuple[int, int]]:
    return {
        name: (trains[0].info.number, trains[-1].info.number)
        for name, trains in inputs.items()
        if trains
    }


def _told(error: BaseException) -> str:
    if isinstance(error, PenstockError):
        return str(error)
    return f"{type(error).__name__}: {error}".splitlines()[0]
