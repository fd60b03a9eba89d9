"""Quiescence: everything is held still for a change, and the supervisor's thread waits.

    someone:     rest -- drain ------------- settle all -- the change -- checkpoint --.
    supervisor:  step -- brief steps only -- waits here ------------------------------'-- step …

No new work is started while anybody holds things still, and what runs is settled first; only sinks
may be at work meanwhile. So that one long run does not stop all others for as long as it takes,
what ran is waited for in a *drain*: brief work goes on and nothing long is started. Between two
holds everything runs for a while: statements that come back to back leave the supervisor its turns.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.errors import PenstockError, RunError, StalledError, describe
from penstock.runtime.loop.checkpoint_writer import CheckpointWriter
from penstock.runtime.loop.deliveries import Deliveries
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.worker_pool import WorkerPool

QUIET_STEPS = 3  # in a row without work: what one passes over without any, the next may wait for
POLL_SECONDS = 0.02  # how often a silent source is asked; files and clocks do not call

# A worker that is busy counts as progress, and so does every look of the supervisor: where neither
# comes for so long, what is waited for will not be done.
STALL_SECONDS = 60.0

# Everything runs for as long as it was held before, or until nothing is left to do.
MOST_REST_SECONDS = 0.25  # a hold that waited for a long run does not put off the next for long
MOST_DRAIN_SECONDS = 5.0  # what is brief has waited for a long run for long enough


@dataclass(slots=True)
class Watchdog:
    """Looks at marks that change while there is progress; times are passed in."""

    seconds: float = STALL_SECONDS
    _mark: object = None
    _since: float = 0.0

    def sees_no_progress(self, mark: object, now: float) -> bool:
        """Say whether the mark has been the same for too long."""
        if mark != self._mark:
            self._mark, self._since = mark, now
        return now - self._since >= self.seconds


class Quiescence:
    """Any thread may hold everything still; one at a time does, the same one also twice.

    `fatal` is why nothing goes on. `is_working` says whether the supervisor's thread takes turns,
    `is_stopping` whether it is about to end.
    """

    def __init__(
        self,
        topology: Topology,
        pool: WorkerPool,
        deliveries: Deliveries,
        checkpoints: CheckpointWriter,
    ) -> None:
        """Hold nothing still yet."""
        self.topology, self.pool = topology, pool
        self._deliveries, self._checkpoints = deliveries, checkpoints
        self.fatal: PenstockError | None = None
        self.is_working = self.is_stopping = False
        # Those who are `waiting` want everything held still, or hold it; `draining` wait for what
        # runs to end, `awaiting` for a step.
        self._counts: Counter[str] = Counter()
        self._holder: int | None = None  # the thread that holds everything still
        self._stepping: int | None = None  # the thread that takes a step
        self._rest_until, self._has_worked_off = 0.0, True
        self._lock = threading.RLock()
        self._steps = self._quiet = 0
        self._watchdog = Watchdog()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Hold everything still to look at it, or to change what no checkpoint has."""
        with self._drained() as since, self._wanted():
            self._settle_all()
            before, self._holder = self._holder, threading.get_ident()
            try:
                yield
            finally:
                self._holder = before
                self._begin_rest(since)

    @property
    def is_draining(self) -> bool:
        """Say whether somebody waits for what runs to end, while brief work goes on."""
        return self._counts["draining"] > 0

    @contextmanager
    def quiesced(self) -> Iterator[None]:
        """Hold everything still for a change; a checkpoint closes it."""
        with self.resting():
            self._refuse_fatal()
            self._hand_over()
            yield
            self._checkpoints.write()

    @contextmanager
    def between_runs(self) -> Iterator[None]:
        """Hold everything still for a change of the graph, which no replay may cross."""
        self.catch_up()
        with self.quiesced():
            yield

    @contextmanager
    def adding(self) -> Iterator[None]:
        """Hold everything still for queries that are added; what they leave alone is not written.

        Where they do more than that, all the same, a whole checkpoint closes it.
        """
        self.catch_up()
        with self.resting():
            self._refuse_fatal()
            self._hand_over()
            yield
            self._checkpoints.write_addition()

    def _refuse_fatal(self) -> None:
        if self.fatal is not None:  # what was not settled must not be written down
            raise self.fatal

    def catch_up(self, timeout: float | None = None) -> bool:
        """Return True once recorded runs are done again, or cannot be now; False at a time-out.

        Called while quiesced it would wait for ever, since the runs need the supervisor.
        """
        until = None if timeout is None else time.monotonic() + timeout
        watchdog, condition = Watchdog(), self.pool.condition
        with condition:
            while self.topology.is_replaying() and not (self._can_do_none or self.fatal):
                now = time.monotonic()
                mark = self._steps if self.pool.is_quiesced else now
                is_holder = self._holder == threading.get_ident()
                if is_holder or watchdog.sees_no_progress(mark, now):
                    raise stalled()
                if until is not None and now >= until:
                    return False
                condition.wait(POLL_SECONDS)
        return True

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Run one step of the supervisor, once nobody holds the system quiesced."""
        with self.pool.condition:
            while self._counts[
                "waiting"
            ]:  # a lock alone is not fair: the supervisor would take it again
                self.pool.condition.wait(POLL_SECONDS)
        with self._lock:
            self._stepping = threading.get_ident()
            try:
                yield
            finally:
                self._stepping = None
        self._steps += 1
        if self._counts["awaiting"]:
            with self.pool.condition:
                self.pool.condition.notify_all()

    def note_step(self, now: float) -> None:
        """Count steps without work; raise where recorded runs wait for what nobody is going to do.

        A cause that users are told makes it no error.
        """
        self._quiet = self._quiet + 1 if self.pool.is_quiesced else 0
        self._has_worked_off = self._has_worked_off or self._quiet > 0
        waits = self.pool.is_idle and self.topology.is_replaying() and not self.topology.is_held()
        if self._watchdog.sees_no_progress(self.pool.started if waits else now, now):
            raise stalled()

    @property
    def _can_do_none(self) -> bool:
        """Say whether recorded runs have to wait, such as for a source that cannot be read."""
        return self.is_stopping or self._quiet >= QUIET_STEPS

    @contextmanager
    def _drained(self) -> Iterator[float]:
        """Wait until all has rested and what ran is over; give since when this drains."""
        self._await(lambda: self._has_worked_off or time.monotonic() >= self._rest_until)
        with self._counted("draining"):
            since, steps = time.monotonic(), self._steps
            self._await(lambda: self._steps > steps)  # one under way may still start what is long
            last, until = self.pool.started, since + MOST_DRAIN_SECONDS
            self._await(lambda: self.pool.has_ended(last) or time.monotonic() >= until)
            yield since

    @contextmanager
    def _wanted(self) -> Iterator[None]:
        """Keep the supervisor from its turns, once it is through with the one under way."""
        with self._counted("waiting"), self._lock:
            yield

    @contextmanager
    def _counted(self, what: str) -> Iterator[None]:
        """Count those who wait, and call whoever may go on then."""
        with self.pool.condition:
            self._counts[what] += 1
        self.pool.wake()
        try:
            yield
        finally:
            with self.pool.condition:
                self._counts[what] -= 1
            self.pool.wake()

    def _await(self, is_so: Callable[[], bool]) -> None:
        """Wait for what the supervisor does meanwhile; not where it cannot take a step."""
        me = threading.get_ident()
        with self._counted("awaiting"), self.pool.condition:
            while self._takes_steps and me not in (self._holder, self._stepping) and not is_so():
                self.pool.condition.wait(POLL_SECONDS)

    @property
    def _takes_steps(self) -> bool:
        return self.is_working and not self.is_stopping and self.fatal is None

    def _begin_rest(self, since: float) -> None:
        """Let all work for as long as it has been held, once nobody holds it any more."""
        if self._holder is None:
            now = time.monotonic()
            self._rest_until = now + min(now - since, MOST_REST_SECONDS)
            self._has_worked_off = False

    def _hand_over(self) -> None:
        """Deliver what waits and goes to no sink: a checkpoint would have to keep its rows."""
        while self.is_working:  # before the start, those who want to see it may be missing
            self._deliveries.start_light()
            if self.pool.is_quiesced:
                return
            self._settle_all()

    def _settle_all(self) -> None:
        """Wait until only sinks are at work; what cannot be settled ends everything."""
        with self.ending_all():
            self.pool.settle_all(POLL_SECONDS)

    @contextmanager
    def ending_all(self) -> Iterator[None]:
        """Go on with nothing more where the block raises: it may have left things half done."""
        try:
            yield
        except PenstockError as error:
            # A journal that cannot be written: nothing may run that is not recorded.
            self.fatal = self.fatal or error
            raise
        except Exception as error:
            defect = RunError(f"a defect stopped everything: {describe(error)}")
            self.fatal = self.fatal or defect
            raise defect from error


def stalled() -> StalledError:
    """Return what to tell of a wait that would not end."""
    return StalledError(
        "recorded runs are to be done again, and nothing does them",
        hint="nothing is lost: end the process, and the same command goes on; please report it",
    )
