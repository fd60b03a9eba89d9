"""Queues: what waits in front of each unit, and what its next run would take."""

import math
from collections import deque
from dataclasses import dataclass, field

from penstock.schedule.batching import Batching, Pace, Waiting
from penstock.schedule.costs.work import Crossing
from penstock.schedule.strategy import ReadyUnit


@dataclass(slots=True)
class Held:
    """The memory of one train in its buffer, until the last of its readers has passed."""

    size: float
    readers: int


@dataclass(frozen=True, slots=True)
class Train(Waiting):
    """Tuples in a buffer. `tuples` of the stream they stand for: selectivity makes `rows` of them.

    Rows may be fractions: what comes out is the mean, so that a run is the same every time.
    """

    tuples: float
    arrived: float
    deadline: float
    leaf: str
    held: Held


@dataclass(slots=True)
class Run:
    """Trains that a unit takes at once, the work in them, and how much of it is left."""

    trains: list[Train]
    seconds: float
    remaining: float
    ready: ReadyUnit


@dataclass(slots=True)
class Queue:
    """A unit's input in the order of its coming; what was stopped goes before all else."""

    key: str
    crossings: dict[str, Crossing]
    batching: Batching
    gap: float = math.inf
    waiting: deque[Train] = field(default_factory=deque)
    stopped: Run | None = None
    _next: Run | None = None

    def put(self, train: Train) -> None:
        """Append a train."""
        self.waiting.append(train)
        self._next = None

    def __bool__(self) -> bool:
        """Say whether anything waits."""
        return bool(self.waiting) or self.stopped is not None

    def next_run(self, laxity: float) -> Run:
        """Return what would run next; it stays in the queue."""
        if self.stopped is not None:
            return self.stopped
        if self._next is None:
            count = self.batching.take(self.waiting, Pace(laxity, self.gap))
            self._next = self._run([self.waiting[n] for n in range(max(1, count))])
        return self._next

    def take(self, laxity: float) -> Run:
        """Return the next run and let it begin."""
        run = self.next_run(laxity)
        if self.stopped is None:
            for _ in run.trains:
                self.waiting.popleft()
        self.stopped = self._next = None
        return run

    def drop(self) -> list[Train]:
        """Give up the first train, or all of a run that was stopped, and return them."""
        if self.stopped is not None:
            dropped, self.stopped = self.stopped.trains, None
            return dropped
        self._next = None
        return [self.waiting.popleft()]

    def clear(self) -> list[Train]:
        """Give up everything, and return it."""
        dropped = [*(self.stopped.trains if self.stopped is not None else ()), *self.waiting]
        self.waiting.clear()
        self.stopped = self._next = None
        return dropped

    def change(self, place: int, train: Train) -> None:
        """Put another train in the place of one that waits."""
        self.waiting[place] = train
        self._next = None

    def put_back(self, run: Run, remaining: float) -> None:
        """Keep a run that was stopped; what is left of it is as many tuples less."""
        rows = run.ready.waiting_rows * remaining / run.remaining if run.remaining else 0.0
        ready = run.ready
        self.stopped = Run(
            run.trains,
            run.seconds,
            remaining,
            ReadyUnit(ready.key, rows, ready.waiting_since, ready.waiting_bytes, ready.deadline),
        )

    def _run(self, trains: list[Train]) -> Run:
        seconds = sum(train.rows * self.crossings[train.leaf].seconds for train in trains)
        ready = ReadyUnit(
            self.key,
            sum(train.rows for train in trains),
            min(train.arrived for train in trains),
            sum(train.held.size for train in trains),
            min(train.deadline for train in trains),
        )
        return Run(trains, seconds, seconds, ready)
