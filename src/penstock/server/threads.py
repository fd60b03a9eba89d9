"""Threads for work that would block the loop that serves: statements, pushes, and reading rows.

Each kind has its own, so that long SELECTs hold up no push, and neither of them a subscriber.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

from penstock.engine.spark.jobs.cancellation import Cancellation, cancellable
from penstock.errors import CancelledError, TooManyError
from penstock.server.configuration import Configuration

P = ParamSpec("P")
T = TypeVar("T")
PUSHING = 8  # threads that decode and append; the log takes one of a stream at a time
PUSHES_WAITING = 10_000
READING = 4  # threads that take what is there, and wait for nothing
JOINING = 2  # threads that subscribe, which waits for the runtime to come to rest


@dataclass(slots=True)
class Lane:
    """Some threads of one kind, and how much may wait for them."""

    name: str
    threads: int
    waiting: int
    hint: str = "ask again later"
    _pool: ThreadPoolExecutor = field(init=False)
    _there: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix=f"penstock-{self.name}")

    async def do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the work gives, done by one of the threads; TooManyError where all wait."""
        return await asyncio.wrap_future(self._taken(partial(work, *args, **kwargs)))

    async def do_unless(self, cancellation: Cancellation, work: Callable[[], T]) -> T:
        """As `do`; what is cancelled while it waits for its turn leaves, with CancelledError."""

        def cancellable_work() -> T:
            with cancellable(cancellation):
                return work()

        taken = self._taken(cancellable_work)
        cancellation.future.add_done_callback(lambda _: taken.cancel())
        try:
            return await asyncio.wrap_future(taken)
        except asyncio.CancelledError:
            if cancellation.is_cancelled and taken.cancelled():
                raise CancelledError("the statement was cancelled before its turn came") from None
            raise

    def close(self) -> None:
        """Take nothing more, and do not wait for what is under way."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _taken(self, work: Callable[[], T]) -> "Future[T]":
        """Return what will have the result of the work, which is done in the caller's context."""
        with self._lock:
            if self._there >= self.threads + self.waiting:
                raise TooManyError(f"too much waits ({self.name})", hint=self.hint)
            self._there += 1
        future: Future[T] = self._pool.submit(contextvars.copy_context().run, work)
        future.add_done_callback(self._leave)
        return future

    def _leave(self, _: object) -> None:
        with self._lock:
            self._there -= 1


@dataclass(frozen=True, slots=True)
class Threads:
    """The lanes of a server."""

    statements: Lane
    pushes: Lane
    reads: Lane
    joins: Lane

    @classmethod
    def of(cls, configuration: Configuration) -> "Threads":
        """Return lanes as wide as the configuration allows."""
        hint = "limits.statements and limits.waiting allow more"
        return cls(
            Lane("statements", configuration.limits_statements, configuration.limits_waiting, hint),
            Lane("pushes", PUSHING, PUSHES_WAITING),
            Lane("reads", READING, configuration.limits_subscribers),
            Lane("joins", JOINING, configuration.limits_subscribers),
        )

    def close(self) -> None:
        """Let them end."""
        for lane in (self.statements, self.pushes, self.reads, self.joins):
            lane.close()
