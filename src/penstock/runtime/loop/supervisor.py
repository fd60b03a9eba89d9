"""The supervisor: one thread that looks, decides and lets others act.

    sources --intake--> buffers --dispatcher--> buffers --deliveries--> sinks
                           '--archiving--> archives

Order is kept because a stream is read, a unit runs and a query delivers once at a time. Changes
and checkpoints happen while quiesced: no new work is started until what runs has ended.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.clock import Clock
from penstock.engine.spark.processor import Processor
from penstock.engine.spark.spark_life import refuse_dead
from penstock.errors import PenstockError, RunError, told
from penstock.plan.operators.graph import Graph
from penstock.plan.sharing.bundling import Standing, bundled
from penstock.plan.sharing.units import Unit, cut_at_shared
from penstock.runtime.durable.journal import Journal
from penstock.runtime.loop.acting import Acting
from penstock.runtime.loop.archiving import Archiving
from penstock.runtime.loop.control import EVERYTHING, ROUND_ROBIN, Control
from penstock.runtime.loop.deliveries import Deliveries
from penstock.runtime.loop.dispatcher import Dispatcher
from penstock.runtime.loop.intake import Intake
from penstock.runtime.loop.occasions import Occasions
from penstock.runtime.loop.watchdog import Watchdog, stalled
from penstock.runtime.quality.quality import Quality
from penstock.runtime.quality.suspending import Orders
from penstock.runtime.topology.checkpoint import write_checkpoint
from penstock.runtime.topology.connecting import connect
from penstock.runtime.topology.cuts import needed_cuts
from penstock.runtime.topology.standing import may_bundle, standing_of
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import Tap
from penstock.runtime.work.worker_pool import WorkerPool
from penstock.schedule import Choice, RoundRobin

SINK_SECONDS = 10.0  # that a sink at work gets when everything ends
RECUTS = 6  # checkpoints after a change at which a strategy cuts by figures that are better known
QUIET_STEPS = 3  # in a row without work: what one passes over without any, the next may wait for
POLL_SECONDS = 0.02  # how often a silent source is asked; files and clocks do not call


@dataclass(frozen=True, slots=True)
class Settings:
    """How the supervisor works; `slots` is how many units may run at once (default: Spark's).

    Without `share`, queries that could run as one bundle run each by itself. `strategy` and
    `batching` decide until something else is SET. A one-time SELECT may take `statement_seconds`,
    a SELECT of a unit's run `run_seconds`, then its query is held; None is no limit.
    """

    checkpoint_seconds: float = 10.0
    slots: int | None = None
    share: bool = True
    strategy: Choice = ROUND_ROBIN
    batching: Choice = EVERYTHING
    statement_seconds: float | None = 600.0  # who waits for rows has gone by then
    run_seconds: float | None = 1800.0  # a run over a long past may take minutes on a slow machine


DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Means:
    """What the supervisor works with."""

    processor: Processor
    journal: Journal
    clock: Clock
    state_directory: Path
    settings: Settings = DEFAULTS
    acting: Acting | None = None  # without it there are no rules


class Supervisor:
    """Runs a topology. Only its own thread, or a thread inside `at_rest`, touches the topology."""

    def __init__(self, topology: Topology, means: Means) -> None:
        """Be ready; `start` begins."""
        self.topology = topology
        self.fatal: PenstockError | None = None
        self._means, self._clock = means, means.clock
        self._pool = WorkerPool(self.slots)
        journal, clock = means.journal, means.clock
        self._dispatcher = Dispatcher(
            topology, self._pool, journal, clock, means.processor, RoundRobin()
        )
        self.control = Control(self._dispatcher, means.settings.strategy, means.settings.batching)
        self.statistics = self._dispatcher.statistics
        keeper = self._dispatcher.run_queue.shedding_controller
        self.quality = Quality(topology, self.statistics, keeper, self.slots)
        # Lets in who waits and has room, while quiesced.
        self.admit: Callable[[], None] | None = None
        # Does what quality of service orders, while quiesced.
        self.measure: Callable[[Orders], None] | None = None
        self._intake = Intake(topology, self._pool, journal, clock, self.statistics)
        self.watching = self._intake.watching
        self._deliveries = Deliveries(topology, self._pool, journal, clock)
        self._archiving = Archiving(topology, self._pool, clock)
        self._occasions: Occasions | None = None
        if means.acting is not None:
            rules = (topology, self._pool, journal, clock, means.processor, means.acting)
            self._occasions = Occasions(*rules)
        self._resting = self._changing = self._steps = 0
        self._watchdog = Watchdog()
        self._holder: int | None = None  # the thread that holds everything still
        self._cuts = 0  # that began or ended: one is under way where this is odd
        self._stopped_at = 0.0
        self._changed = False
        self._rest_lock = threading.RLock()
        self._stopping, self._quiet = False, 0
        self._recuts, self._held = RECUTS, False
        self._next_checkpoint = 0.0
        self._thread = threading.Thread(target=self._loop, name="penstock", daemon=True)

    @property
    def slots(self) -> int:
        """Return how many units may run at once."""
        return self._means.settings.slots or self._means.processor.slots

    @property
    def taps(self) -> list[Tap]:
        """Return the functions that see every delivery."""
        return self._deliveries.taps

    @property
    def acts(self) -> bool:
        """Say whether rules have something to decide or to do."""
        return self._occasions is not None and self._occasions.is_at_work

    def start(self) -> None:
        """Begin to work."""
        self._next_checkpoint = self._clock.now() + self._means.settings.checkpoint_seconds
        self._thread.start()

    def stop(self) -> None:
        """Finish what runs, write a checkpoint, end."""
        self._stopped_at = self._clock.now()
        self._stopping = True
        if self._occasions is not None:
            self._occasions.stopping = True
        self._pool.wake()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.dismiss()

    def wake(self) -> None:
        """Look again at once: something has arrived."""
        self._pool.wake()

    def look_at_lanes(self) -> None:
        """Find out what rules have to do; while quiesced."""
        if self._occasions is not None:
            self._occasions.look()

    def catch_up(self, timeout: float | None = None) -> bool:
        """Return True once recorded runs are done again, or cannot be now; False at a time-out.

        Whoever holds everything still would wait for ever: the runs need the supervisor.
        """
        until = None if timeout is None else time.monotonic() + timeout
        watchdog, bell = Watchdog(), self._pool.bell
        with bell:
            while self.topology.is_replaying() and not (self._can_do_none or self.fatal):
                now = time.monotonic()
                mark = self._steps if self._pool.is_quiesced else now
                is_holder = self._holder == threading.get_ident()
                if is_holder or watchdog.sees_no_progress(mark, now):
                    raise stalled()
                if until is not None and now >= until:
                    return False
                bell.wait(POLL_SECONDS)
        return True

    @property
    def _can_do_none(self) -> bool:
        """Say whether recorded runs have to wait, such as for a source that cannot be read."""
        return self._stopping or self._quiet >= QUIET_STEPS

    @contextmanager
    def between_runs(self) -> Iterator[None]:
        """Hold everything still for a change of the graph, which no replay may cross."""
        self.catch_up()
        with self.quiesced():
            yield

    @contextmanager
    def quiesced(self) -> Iterator[None]:
        """Hold everything still for a change; a checkpoint closes it."""
        if self.fatal is not None:  # what was not settled must not be written down
            raise self.fatal
        with self.resting():
            self._hand_over()
            yield
            self.checkpoint()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Hold everything still to look at it, or to change what no checkpoint has."""
        bell = self._pool.bell
        with bell:
            self._resting += 1
        self._pool.wake()
        try:
            with self._rest_lock:
                self._pool.settle_all(POLL_SECONDS)
                before, self._holder = self._holder, threading.get_ident()
                try:
                    yield
                finally:
                    self._holder = before
        finally:
            with bell:
                self._resting -= 1
            self._pool.wake()

    def _hand_over(self) -> None:
        """Deliver what waits and goes to no sink: a checkpoint would have to keep its rows."""
        while self._thread.is_alive():  # before the start, those who want to see it may be missing
            self._deliveries.start_light()
            if self._pool.is_quiesced:
                return
            self._pool.settle_all(POLL_SECONDS)

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Return once every source has ended and everything is delivered; False at a time-out."""
        until = None if timeout is None else self._clock.now() + timeout
        bell = self._pool.bell
        with bell:
            while not self._is_idle():
                late = until is not None and self._clock.now() >= until
                if self._stopping or self.fatal or late:
                    return False
                bell.wait(POLL_SECONDS)
        return True

    def reconnect(self, standing: Standing | None = None) -> None:
        """Cut the graph anew after a change; while quiesced. What stands keeps its units.

        With what stood at a checkpoint it is cut just as then: recorded runs are done again.
        """
        self._changed = False
        self.statistics.remember(self.topology, self._clock.now())
        if standing is not None:
            graph = self.shared(self.topology.graph, standing)
            units = cut_at_shared(graph, standing.units)
            self.control.strategy.take_over(graph, units)
            self._connect(units)
        else:
            self._connect(self.units_of(self.topology.graph, standing_of(self.topology)))
            self._recuts = RECUTS
        self.statistics.forget_all_but(self.topology)

    def recut(self) -> None:
        """Cut as the strategy would if nothing stood; while quiesced.

        Where trains wait between two operators they stay apart until these are read.
        """
        self.statistics.remember(self.topology, self._clock.now())
        standing, needed = standing_of(self.topology), needed_cuts(self.topology)
        self._connect(self.units_of(self.topology.graph, replace(standing, units=needed)))
        self.statistics.forget_all_but(self.topology)
        self._held = bool(needed - self.topology.outputs)
        self._recuts = self._recuts - 1 if self._held or not self.control.is_sure else 0

    def _connect(self, units: Sequence[Unit]) -> None:
        """Make these the units; meanwhile nobody can tell what is left to do."""
        self._cuts += 1
        try:
            connect(self.topology, units)
        finally:
            self._cuts += 1

    def use_strategy(self, choice: Choice) -> None:
        """Let another strategy decide from now on, over units as it cuts them; while quiesced."""
        self.control.use_strategy(choice)
        self._recuts = RECUTS
        self.recut()

    def units_of(self, graph: Graph, standing: Standing) -> tuple[Unit, ...]:
        """Return the units of a graph, given what stands."""
        return self.control.strategy.cut(self.shared(graph, standing), standing.units)

    def shared_graph(self) -> Graph:
        """Return the graph as it runs, bundles for their members; while quiesced."""
        return self.shared(self.topology.graph, standing_of(self.topology))

    def shared(self, graph: Graph, standing: Standing) -> Graph:
        """Return a graph with bundles for their members, where queries share."""
        return bundled(graph, standing) if self._means.settings.share else graph

    def changed(self) -> None:
        """Cut the graph anew after a change: now, or at the end of `changing`; while quiesced."""
        if self._changing:
            self._changed = True
        else:
            self.reconnect()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Cut the graph anew once for all changes inside, also where it raises; while quiesced."""
        self._changing += 1
        try:
            yield
        finally:
            self._changing -= 1
            if self._changed and not self._changing:
                self.reconnect()

    def checkpoint(self) -> None:
        """Write down everything; while quiesced."""
        refuse_dead()  # whoever has met it may not have been settled
        decided = {"control": self.control.kept(), "statistics": self.statistics.kept()}
        write_checkpoint(self.topology, self._means.journal, self._means.state_directory, decided)
        self._next_checkpoint = self._clock.now() + self._means.settings.checkpoint_seconds

    def _loop(self) -> None:
        over = False
        while not over:
            with self._pool.bell:
                while self._resting:  # a lock alone is not fair: the loop would take it again
                    self._pool.bell.wait(POLL_SECONDS)
            try:
                with self._rest_lock:
                    over = self._step()
                self._steps += 1
            except PenstockError as error:
                # A journal that cannot be written: nothing may run that is not recorded.
                self.fatal, over = error, True
            except Exception as error:
                self.fatal, over = RunError(f"a defect stopped everything: {told(error)}"), True
        if self.fatal is not None:
            self.topology.fail_subscriptions(self.fatal)
        with self._pool.bell:
            self._pool.bell.notify_all()

    def _step(self) -> bool:
        """Take what has ended, start what can be started, sleep; say whether it is over."""
        self._pool.settle()
        refuse_dead()
        now = self._clock.now()
        due = self._stopping or now >= self._next_checkpoint
        asked = self.topology.must_cut or self.topology.retired() or self._has_new_tables()
        asked = asked or (self.control.wants_other and not self.topology.is_replaying())
        if due or asked or self.quality.suspending.orders:
            self._deliveries.start_light()
            if self._pool.is_quiesced and not self._awaits_sinks(now):
                self._retire()
                self._swap_tables()
                self._obey()
                self._serve()
                self.checkpoint()
                if self._stopping:
                    return True
        else:
            self._end_by_deadline(now)
            self.control.look(now)
            self.quality.look(self.shared_graph, now)
            self._deliveries.start()
            if self._occasions is not None:
                self._occasions.start(now)
            self._dispatcher.start(now)
            self._archiving.start(now)
            self._intake.start(now)
            if self.topology.tables is not None:
                self.topology.tables.look(self._pool, now)
            self._quiet = self._quiet + 1 if self._pool.is_quiesced else 0
            self._look_for_stall(time.monotonic())
        self._pool.wait(POLL_SECONDS)
        return False

    def _look_for_stall(self, now: float) -> None:
        """Raise where recorded runs wait for what nobody is going to do, and nothing says why."""
        waits = self._pool.is_idle and self.topology.is_replaying() and not self.topology.is_held()
        if self._watchdog.sees_no_progress(self._pool.started if waits else now, now):
            raise stalled()

    def _awaits_sinks(self, now: float) -> bool:
        """Say whether sinks get a little more time before everything ends."""
        return self._stopping and not self._pool.is_idle and now < self._stopped_at + SINK_SECONDS

    def _end_by_deadline(self, now: float) -> None:
        for query in self.topology.queries.values():
            is_over = query.deadline is not None and now >= query.deadline
            if is_over and self.topology.end_takes(query):
                query.deadline = None

    def _retire(self) -> None:
        """Let go of queries that have ended, and of what only they needed; bundle who may be."""
        ended = self.topology.retired()
        for query in ended:
            self.topology.retire(query)
        if ended or (self._means.settings.share and may_bundle(self.topology)):
            self.reconnect()
        elif self._may_recut() and not self.topology.is_replaying():
            self.recut()

    def _may_recut(self) -> bool:
        """Say whether another cut may be better: figures are better known, or trains are read."""
        return self._recuts > 0 and (self._held or self.control.strategy.needs_operators)

    def _has_new_tables(self) -> bool:
        """Say whether tables may be swapped: recorded runs are done again over the old ones."""
        tables = self.topology.tables
        return tables is not None and tables.has_news and not self.topology.is_replaying()

    def _swap_tables(self) -> None:
        if self.topology.tables is not None and self._has_new_tables():
            self.topology.tables.swap()

    def _obey(self) -> None:
        """Suspend and call back whom quality of service says, unless everything ends."""
        if self.measure is not None and self.quality.suspending.orders and not self._stopping:
            self.measure(self.quality.suspending.orders)
        self.quality.suspending.done()
        if self.admit is not None and self.topology.waiting and not self._stopping:
            self.admit()

    def _serve(self) -> None:
        """Let the strategy decide that serves what is needed now."""
        if self.control.wants_other and not self.topology.is_replaying():
            self.control.serve()
            self._recuts = RECUTS
            self.recut()

    def _is_idle(self) -> bool:
        """Say whether nothing is left to do; nothing may begin or be cut while this looks."""
        before = self._pool.started, self._cuts
        if self._cuts % 2:
            return False
        return self._has_nothing_to_do() and (self._pool.started, self._cuts) == before

    def _has_nothing_to_do(self) -> bool:
        if not self._pool.is_idle or self.topology.must_cut:
            return False
        idle = self._occasions is None or self._occasions.is_idle
        # In this order: a query that ends meanwhile makes it drained, and has yet to be let go of.
        return idle and self.topology.is_drained() and not self.topology.retired()
