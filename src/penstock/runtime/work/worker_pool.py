"""The worker pool: threads that do the work, and the condition that calls the supervisor back.

What a worker has done is settled by the supervisor's own thread, one thing after the other, so
that nothing else needs a lock. What failed because Spark's Java has ended is not settled at all.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from penstock.engine.spark.application.spark_life import refuse_dead

DELIVERY_THREADS = 4
SINK_THREADS = 32  # one that hangs has one of them for as long
SINK = "sink:"
BY_SLOTS = {"source": "penstock-read", "unit": "penstock-unit", "rules": "penstock-rules"}
ARCHIVE_THREADS = 2  # writing Parquet leaves the interpreter free

Finish = Callable[[Future[object]], None]


def outcome(work: Callable[[], object]) -> Future[object]:
    """Return what some work gave or raised."""
    future = Future[object]()
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
    return future


class Workers(Protocol):
    """What those who start work ask of the worker pool."""

    @property
    def is_quiesced(self) -> bool:
        """Say whether only sinks are at work and nothing waits to be settled."""
        ...

    @property
    def free_slots(self) -> int:
        """Return how many more units may run at once."""
        ...

    def is_busy(self, name: str) -> bool:
        """Say whether that one is at work."""
        ...

    def submit(
        self, name: str, work: Callable[[], object], finish: Finish, along: Collection[str] = ()
    ) -> None:
        """Submit `work` to a worker; `finish` runs when the supervisor settles.

        The name's first part, up to the colon, is its pool. What those `along` have to do is part
        of the work: they are busy, too.
        """
        ...

    def do_here(self, work: Callable[[], object], finish: Finish) -> None:
        """Do `work` in the thread of who calls, and finish it at once."""
        ...

    def ask_again(self) -> None:
        """Say that something has been done, for those who were asked before it."""
        ...


def _pools_of(slots: int) -> dict[str, ThreadPoolExecutor]:
    """Return the pools that have as many threads as there are slots."""
    return {
        name: ThreadPoolExecutor(slots, thread_name_prefix=prefix)
        for name, prefix in BY_SLOTS.items()
    }


class WorkerPool(Workers):
    """Pools for reading sources, running units (as many as slots), rules, delivering, archiving.

    Sinks are not waited for: one may be at work while everything else is quiesced.
    """

    def __init__(self, slots: int) -> None:
        """Hire."""
        self.condition = threading.Condition()
        self.slots, self._threads = slots, slots
        self._pools = {
            **_pools_of(slots),
            "query": ThreadPoolExecutor(DELIVERY_THREADS, thread_name_prefix="penstock-deliver"),
            "sink": ThreadPoolExecutor(SINK_THREADS, thread_name_prefix="penstock-sink"),
            "archive": ThreadPoolExecutor(ARCHIVE_THREADS, thread_name_prefix="penstock-archive"),
        }
        self._busy: set[str] = set()
        self._along: set[str] = set()  # of those who are busy: whose work another's worker does
        self.started = 0  # so many things, ever
        self._numbers: dict[str, int] = {}  # by who is busy: the how manieth thing that is
        self._done: deque[tuple[frozenset[str], Callable[[], None]]] = deque()
        self._woken = False
        self._settling = False  # what is half settled is not idle, for those who look meanwhile

    def resize(self, slots: int) -> None:
        """Have another number of slots from now on; what is at work goes on.

        Threads are never fewer than there were: they only wait.
        """
        self.slots = slots
        if slots > self._threads:
            self._threads, before = slots, self._pools
            self._pools = before | _pools_of(slots)
            for name in BY_SLOTS:
                before[name].shutdown(wait=False)

    def is_busy(self, name: str) -> bool:
        return name in self._busy

    @property
    def is_idle(self) -> bool:
        """Say whether no worker is busy and nothing waits to be settled."""
        return not self._busy and not self._done and not self._settling

    @property
    def is_quiesced(self) -> bool:
        return not self._moving() and not self._done and not self._settling

    def has_ended(self, last: int) -> bool:
        """Say whether only sinks are at work on the first so many things that were started."""
        return not any(self._numbers.get(name, 0) <= last for name in self._moving())

    def _moving(self) -> list[str]:
        return [name for name in list(self._busy) if not name.startswith(SINK)]

    @property
    def free_slots(self) -> int:
        return self.slots - sum(1 for n in self._busy - self._along if n.startswith("unit:"))

    def submit(
        self, name: str, work: Callable[[], object], finish: Finish, along: Collection[str] = ()
    ) -> None:
        names = frozenset((name, *along))
        self._busy |= names
        self._along |= set(along)
        self.started += 1
        self._numbers |= dict.fromkeys(names, self.started)

        def settle(future: Future[object]) -> None:
            def done() -> None:
                refuse_dead(future.exception())
                finish(future)

            with self.condition:
                self._done.append((names, done))
                self.condition.notify_all()

        self._pools[name.partition(":")[0]].submit(work).add_done_callback(settle)

    def do_here(self, work: Callable[[], object], finish: Finish) -> None:
        self.started += 1
        future = outcome(work)
        refuse_dead(future.exception())
        finish(future)

    def ask_again(self) -> None:
        with self.condition:
            self._done.append((frozenset(), lambda: None))

    def settle(self) -> None:
        """Finish what workers have done; only the supervisor, or a thread while quiesced.

        Where one raises, the others are not finished any more, and nobody waits for them.
        """
        with self.condition:
            done, self._done = self._done, deque()
            self._settling = bool(done)
        try:
            while done:
                names, finish = done.popleft()
                self._leave(names)
                finish()
        finally:
            for names, _ in done:
                self._leave(names)
            self._settling = False

    def _leave(self, names: frozenset[str]) -> None:
        self._busy -= names
        self._along -= names

    def settle_all(self, poll_seconds: float) -> None:
        """Wait until only sinks are at work."""
        self.settle()
        while self._moving():
            self.wait(poll_seconds)
            self.settle()

    def wake(self) -> None:
        """Call the supervisor: something has arrived."""
        with self.condition:
            self._woken = True
            self.condition.notify_all()

    def wait(self, seconds: float) -> None:
        """Return when something is done, somebody calls, or the time is up."""
        with self.condition:
            if not self._done and not self._woken:
                self.condition.wait(seconds)
            self._woken = False

    def dismiss(self) -> None:
        """Shut down after the work under way; a sink that hangs is left behind."""
        for name, pool in self._pools.items():
            pool.shutdown(wait=name != "sink")
