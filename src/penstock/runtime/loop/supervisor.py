"""The supervisor: one thread that looks, decides and lets others act.

    sources --poller--> buffers --dispatcher--> buffers --deliveries--> sinks
                           '--archiving--> archives

Order is kept because a stream is read, a unit runs and a query delivers once at a time. Changes
and checkpoints happen while quiesced: no new work is started until what runs has ended.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.engine.spark.application.spark_life import refuse_dead
from penstock.errors import PenstockError
from penstock.runtime.durable.push_keys import KEEP_SECONDS
from penstock.runtime.loop.archiver import Archiving
from penstock.runtime.loop.checkpoint_writer import CheckpointWriter
from penstock.runtime.loop.control import EVERYTHING, ROUND_ROBIN
from penstock.runtime.loop.deliveries import Deliveries
from penstock.runtime.loop.dispatch.dispatcher import Dispatcher
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.runtime.loop.quiescence import POLL_SECONDS, Quiescence
from penstock.runtime.loop.source_poller import SourcePoller
from penstock.runtime.loop.trigger_batches import TriggerBatches
from penstock.runtime.loop.warm_up import WarmUp
from penstock.runtime.quality.quality import Quality
from penstock.runtime.quality.samples import Samples
from penstock.runtime.quality.suspension import Orders
from penstock.runtime.work.live_query import Tap
from penstock.runtime.work.run_limits import RUN_LIMITS, RunLimits
from penstock.schedule import Choice

SINK_SECONDS = 10.0  # that a sink at work gets when everything ends


@dataclass(frozen=True, slots=True)
class Settings:
    """How a connection works: `connect(settings=Settings(checkpoint_seconds=30))`.

    Attributes:
        checkpoint_seconds: the time from one checkpoint to the next.
        slots: how many units may run at once; None takes as many as Spark has.
        share: whether queries run as bundles; False runs each by itself, for comparisons.
        strategy: what chooses the next unit until SET STRATEGY names another.
        batching: how much a run takes until SET BATCHING names another rule.
        statement_seconds: how long a one-time SELECT may take; None is no limit.
        run_seconds: how long one SELECT of a unit's run may take before its query is held; None
            is no limit.
        key_seconds: how long keys of pushes are remembered, at least.
        limits: the most that one run or delivery takes of what waits.
        warm_seconds: how long generators and recordings wait at most before they begin to play,
            while what is asked of them runs over made-up rows.
    """

    checkpoint_seconds: float = 10.0
    slots: int | None = None
    share: bool = True
    strategy: Choice = ROUND_ROBIN
    batching: Choice = EVERYTHING
    statement_seconds: float | None = 600.0  # who waits for rows has gone by then
    run_seconds: float | None = 1800.0  # a run over a long past may take minutes on a slow machine
    key_seconds: float = KEEP_SECONDS
    limits: RunLimits = RUN_LIMITS
    warm_seconds: float = 3.0  # a cold Spark takes one or two for what a small script asks


DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Duties:
    """What the supervisor has others do about queries, while quiesced.

    `obey` suspends and calls back whom quality of service says; `admit` lets in those who wait and
    have room. `look_around` is done at every step: it takes the slots that the cluster has, and
    raises once others may write to the journal.
    """

    obey: Callable[[Orders], None]
    admit: Callable[[], None]
    look_around: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class LoopStages:
    """The work that a step starts, wherever something waits."""

    deliveries: Deliveries
    trigger_batches: TriggerBatches
    dispatcher: Dispatcher
    archiving: Archiving
    warm_up: WarmUp
    source_poller: SourcePoller

    def start(self, now: float) -> None:
        """Start each, what leaves the system before what comes in."""
        self.deliveries.start()
        self.trigger_batches.start(now)
        self.dispatcher.start(now)
        self.archiving.start(now)
        self.warm_up.start(now)
        self.source_poller.start(now)

    def start_brief(self, now: float) -> None:
        """Start what is over in a moment, for those who wait for the rest to end."""
        self.deliveries.start_light()
        self.dispatcher.start_brief(now)
        self.source_poller.start_pushed(now)


class Supervisor:
    """Runs a topology in a thread of its own.

    Only that thread, or one that holds everything still, touches the topology.
    """

    def __init__(
        self,
        quiescence: Quiescence,
        cutter: GraphCutter,
        checkpoints: CheckpointWriter,
        stages: LoopStages,
        quality: Quality,
        duties: Duties,
    ) -> None:
        """Be ready; `start` begins."""
        self.topology, self._pool = quiescence.topology, quiescence.pool
        self._quiescence, self._cutter, self._checkpoints = quiescence, cutter, checkpoints
        self._stages, self._clock = stages, checkpoints.clock
        self.quality, self._duties = quality, duties
        self.control, self.statistics = cutter.control, cutter.statistics
        self.watching, self.samples = stages.source_poller.watching, Samples(self.topology)
        # For those who look at what runs, and at what would run.
        self.resting = quiescence.resting
        self.units_of, self.shared_graph = cutter.units_of, cutter.shared_graph
        self._stopped_at = 0.0
        self._thread = threading.Thread(target=self._loop, name="penstock", daemon=True)

    @property
    def fatal(self) -> PenstockError | None:
        """Return why nothing goes on, if so."""
        return self._quiescence.fatal

    @property
    def slots(self) -> int:
        """Return how many units may run at once."""
        return self._pool.slots

    @property
    def taps(self) -> list[Tap]:
        """Return the functions that see every delivery."""
        return self._stages.deliveries.taps

    @property
    def acts(self) -> bool:
        """Say whether rules have something to decide or to do."""
        return self._stages.trigger_batches.is_at_work

    def start(self) -> None:
        """Begin to work."""
        self._checkpoints.put_off()
        self._quiescence.is_working = True
        self._thread.start()

    def stop(self) -> None:
        """Finish what runs, write a checkpoint, end."""
        self._stopped_at = self._clock.now()
        self._quiescence.is_stopping = True
        self._stages.trigger_batches.stopping = True
        self._pool.wake()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.dismiss()

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Return once every source has ended and everything is delivered; False at a time-out."""
        until = None if timeout is None else self._clock.now() + timeout
        condition = self._pool.condition
        with condition:
            while not self._is_idle():
                late = until is not None and self._clock.now() >= until
                if self._is_stopping or self.fatal or late:
                    return False
                condition.wait(POLL_SECONDS)
        return True

    @property
    def _is_stopping(self) -> bool:
        return self._quiescence.is_stopping

    def _loop(self) -> None:
        try:
            self._take_steps()
        finally:
            self._quiescence.is_working = False
        if self.fatal is not None:
            self.topology.fail_subscriptions(self.fatal)
        with self._pool.condition:
            self._pool.condition.notify_all()

    def _take_steps(self) -> None:
        over = False
        while not over:
            with self._quiescence.turn():
                try:
                    with self._quiescence.ending_all():
                        over = self.fatal is not None or self._step()
                except PenstockError:  # it is told as fatal, and nobody has come in between
                    over = True

    def _step(self) -> bool:
        """Take what has ended, start what can be started, sleep; say whether it is over."""
        began = time.perf_counter()
        self._pool.settle()
        refuse_dead()
        now = self._clock.now()
        self._duties.look_around(now)
        self.samples.look(now)
        self._look_at_load(now)
        if self._must_quiesce(now):
            self._stages.deliveries.start_light()
            if self._pool.is_quiesced and not self._awaits_sinks(now):
                self._change()
                if self._is_stopping:
                    return True
        elif self._quiescence.is_draining:
            self._stages.start_brief(now)
        else:
            self._go_on(now)
        self.statistics.timings.supervised(time.perf_counter() - began, now)
        self._pool.wait(POLL_SECONDS)
        return False

    def _must_quiesce(self, now: float) -> bool:
        """Say whether a checkpoint is due, or something is to change while nothing runs."""
        topology, control = self.topology, self._cutter.control
        due = self._is_stopping or now >= self._checkpoints.due_at
        asked = topology.must_cut or topology.retired() or self._has_new_tables()
        asked = asked or (control.wants_other and not topology.is_replaying())
        return bool(due or asked or (self.quality.suspending.orders and not self._awaits_paused()))

    def _look_at_load(self, now: float) -> None:
        """Look at it also while runs are waited for: under load that is most of the time.

        Those who are to be suspended start nothing more from now on; the rest of it is done while
        quiesced, and nobody else stands still until their last runs have ended.
        """
        suspending = self.quality.suspending
        if suspending.orders or self._is_stopping:
            return
        self.quality.look(self._cutter.shared_graph, now)
        if suspending.orders.suspend:
            self.topology.pause(suspending.orders.suspend.keys())

    def _awaits_paused(self) -> bool:
        """Say whether those who are to be suspended are still at work."""
        units = (self.topology.units.get(name) for name in self.topology.paused)
        return any(live is not None and self._pool.is_busy(live.reader) for live in units)

    def _change(self) -> None:
        """Change what has to be changed, and write it down.

        Ended queries go first: who is let in finds their room free. Tables are swapped before that,
        too, so that who is let in begins with the new rows. The strategy comes last: it cuts what
        stands then.
        """
        self._cutter.retire_ended()
        self._swap_tables()
        self._obey()
        self._cutter.serve_need()
        self._checkpoints.write()

    def _go_on(self, now: float) -> None:
        self._end_by_deadline(now)
        self._cutter.control.look(now)
        self._stages.start(now)
        if self.topology.tables is not None:
            self.topology.tables.look(self._pool, now)
        self._quiescence.note_step(time.monotonic())

    def _awaits_sinks(self, now: float) -> bool:
        """Say whether sinks get a little more time before everything ends."""
        return (
            self._is_stopping and not self._pool.is_idle and now < self._stopped_at + SINK_SECONDS
        )

    def _end_by_deadline(self, now: float) -> None:
        for query in self.topology.queries.values():
            is_over = query.deadline is not None and now >= query.deadline
            if is_over and self.topology.end_takes(query):
                query.deadline = None

    def _has_new_tables(self) -> bool:
        """Say whether tables may be swapped: recorded runs are done again over the old ones."""
        tables = self.topology.tables
        return tables is not None and tables.has_news and not self.topology.is_replaying()

    def _swap_tables(self) -> None:
        if self.topology.tables is not None and self._has_new_tables():
            self.topology.tables.swap()

    def _obey(self) -> None:
        """Suspend, call back and let in, unless everything ends."""
        suspending = self.quality.suspending
        if suspending.orders and not self._is_stopping:
            self._duties.obey(suspending.orders)
        suspending.done()
        self.topology.pause(())
        if self.topology.waiting and not self._is_stopping:
            self._duties.admit()

    def _is_idle(self) -> bool:
        """Say whether nothing is left to do; nothing may begin or be cut while this looks."""
        before = self._pool.started, self._cutter.cuts
        if self._cutter.is_cutting:
            return False
        return self._has_nothing_to_do() and (self._pool.started, self._cutter.cuts) == before

    def _has_nothing_to_do(self) -> bool:
        if not self._pool.is_idle or self.topology.must_cut:
            return False
        # In this order: a query that ends meanwhile makes it drained, and has yet to be let go of.
        idle = self._stages.trigger_batches.is_idle and self.topology.is_drained()
        return idle and not self.topology.retired()
