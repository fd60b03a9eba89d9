"""Lanes: threads of this process that do pieces of a flow side by side.

They end with the process, whatever they are doing: a function that never returns keeps nobody from
leaving. The threads of a pool of Python's own are waited for.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")


class JobLanes:
    """So many threads, made when they are first needed."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._started = False
        self._orders: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()

    def do(self, works: Sequence[Callable[[], Result]]) -> list[Result]:
        """Do these, as many at once as there are lanes, and return what they gave, in order."""
        self._start()
        futures: list[Future[Result]] = [Future() for _ in works]
        for order in zip(works, futures, strict=True):
            self._orders.put(order)
        return [future.result() for future in futures]

    def close(self) -> None:
        """End the threads once they are done."""
        for _ in range(self._count if self._started else 0):
            self._orders.put(None)

    def _start(self) -> None:
        if not self._started:
            self._started = True
            for number in range(self._count):
                name = f"penstock-lane-{number}"
                threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            work, future = order
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)
