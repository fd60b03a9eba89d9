"""Work with a limit of time: who waits is let go, and the jobs of Spark are cancelled.

The work is done by threads that are kept for it: a new one would need a connection to Java of its
own each time. One that is past its time is left behind, since nothing can make it end for sure;
its jobs are cancelled, and its thread in Java is interrupted.
"""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from pyspark import SparkContext

from penstock.engine.spark.jobs.cancellation import current
from penstock.errors import CancelledError, TimedOutError

Result = TypeVar("Result")
_numbers = itertools.count()


class _Worker:
    """A thread whose jobs are a group of Spark's, and that ends with the process."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._group = f"penstock-limited-{next(_numbers)}"
        self._java: Any = None  # its thread there
        self._orders: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        threading.Thread(target=self._work, name=self._group, daemon=True).start()

    def do(self, work: Callable[[], Result]) -> "Future[Result]":
        done: Future[Result] = Future()
        self._orders.put((work, done))
        return done

    def end(self) -> None:
        self._orders.put(None)

    def abandon(self) -> None:
        self.end()
        with suppress(Exception):  # Java may be gone, or have no such thread any more
            # Also those that are still to come: a slow machine may have planned for all that time.
            self._context._jsc.sc().cancelJobGroupAndFutureJobs(self._group)
            if self._java is not None:
                self._java.interrupt()

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            work, done = order
            try:
                self._settle_in()
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

    def _settle_in(self) -> None:
        if self._java is None:
            jvm: Any = self._context._jvm
            self._java = jvm.java.lang.Thread.currentThread()
            self._context.setLocalProperty("spark.jobGroup.id", self._group)


class TimeLimits:
    """Lets work be waited for no longer than so many seconds."""

    def __init__(self) -> None:
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()

    def within(
        self, seconds: float | None, context: SparkContext, work: Callable[[], Result]
    ) -> Result:
        """Return what the work gives, or raise TimedOutError; None is no limit.

        CancelledError where somebody cancels it (cancellation.py).
        """
        cancellation = current()
        if seconds is None and cancellation is None:
            return work()
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        worker = worker or _Worker(context)
        done = worker.do(work)
        awaited: list[Future[Any]] = [done]
        if cancellation is not None:
            awaited.append(cancellation.future)
        try:
            wait(awaited, seconds, FIRST_COMPLETED)
            if done.done():
                return done.result()
            worker.abandon()
            worker = None
            if cancellation is not None and cancellation.is_cancelled:
                raise CancelledError("the statement was cancelled")
            raise TimedOutError(f"it took longer than {seconds:g} s")
        finally:
            if worker is not None:
                with self._lock:
                    self._idle.append(worker)

    def close(self) -> None:
        """End the threads."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()
