"""Waiting for work in a way that Ctrl-C can end."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
LOOK_SECONDS = 0.02


class Patience:
    """Has work done by one thread. Ctrl-C ends the waiting, not the work.

    A change that is broken off half way would be worse than one that is finished unseen. What is
    asked next waits behind it.
    """

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="penstock-shell")
        self._last: Future[Any] | None = None

    @property
    def is_busy(self) -> bool:
        """Say whether the last work goes on."""
        return self._last is not None and not self._last.done()

    def wait_for(self, work: Callable[[], T]) -> T:
        """Return what the work gives, or raise what it raises."""
        future = self._worker.submit(work)
        self._last = future
        while not future.done():
            time.sleep(LOOK_SECONDS)  # not result(): a signal could find a lock held
        return future.result()
