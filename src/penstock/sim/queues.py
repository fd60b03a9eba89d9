"""Queues: what waits in front of each unit, and what its next run would take."""

import math
from collections import deque
from dataclasses import dataclass, field

from penstock.schedule.batching import Batching, Pace, WaitingTrain
from penstock.schedule.costs.work import Crossing
from penstock.schedule.strategy import ReadyUnit


@dataclass(slots=True)
class HeldTrain:
    """The memory of one train in its buffer, until the last of its readers has passed."""

    size: float
    readers: int


@dataclass(frozen=True, slots=True)
class SimulatedTrain(WaitingTrain):
    """Tuples in a buffer. `tuples` of the stream they stand for: selectivity makes `rows` of them.

    Rows may be fractions: what comes out is the mean, so that a run is the same every time.
    """

    tuples: float
    arrived: float
    deadline: float
    leaf: str
    held: HeldTrain


@dataclass(slots=True)
class SimulatedRun:
    """Trains that a unit takes at once, the work in them, and how much of it is left."""

    trains: list[SimulatedTrain]
    seconds: float
    remaining: float
    ready: ReadyUnit


@dataclass(slots=True)
class SimulatedQueue:
    """A unit's input in the order of its coming; what was stopped goes before all else."""

    key: str
    crossings: dict[str, Crossing]
    batching: Batching
    gap: float = math.inf
    waiting: deque[SimulatedTrain] = field(default_factory=deque)
    stopped: SimulatedRun | None = None
    _next: SimulatedRun | None = None

    def put(self, train: SimulatedTrain) -> None:
        """Append a train."""
        self.waiting.append(train)
        self._next = None

    def __bool__(self) -> bool:
        """Say whether anything waits."""
        return bool(self.waiting) or self.stopped is not None

    def next_run(self, laxity: float) -> SimulatedRun:
        """Return what would run next; it stays in the queue."""
        if self.stopped is not None:
            return self.stopped
        if self._next is None:
            count = self.batching.take(self.waiting, Pace(laxity, self.gap))
            self._next = self._run([self.waiting[n] for n in range(max(1, count))])
        return self._next

    def take(self, laxity: float) -> SimulatedRun:
        """Return the next run and let it begin."""
        run = self.next_run(laxity)
        if self.stopped is None:
            for _ in run.trains:
                self.waiting.popleft()
        self.stopped = self._next = None
        return run

    def drop(self) -> list[SimulatedTrain]:
        """Give up the first train, or all of a run that was stopped, and return them."""
        if self.stopped is not None:
            dropped, self.stopped = self.stopped.trains, None
            return dropped
        self._next = None
        return [self.waiting.popleft()]

    def clear(self) -> list[SimulatedTrain]:
        """Give up everything, and return it."""
        dropped = [*(self.stopped.trains if self.stopped is not None else ()), *self.waiting]
        self.waiting.clear()
        self.stopped = self._next = None
        return dropped

    def change(self, place: int, train: SimulatedTrain) -> None:
        """Put another train in the place of one that waits."""
        self.waiting[place] = train
        self._next = None

    def put_back(self, run: SimulatedRun, remaining: float) -> None:
        """Keep a run that was stopped; what is left of it is as many tuples less."""
        rows = run.ready.waiting_rows * remaining / run.remaining if run.remaining else 0.0
        ready = run.ready
        self.stopped = SimulatedRun(
            run.trains,
            run.seconds,
            remaining,
            ReadyUnit(ready.key, rows, ready.waiting_since, ready.waiting_bytes, ready.deadline),
        )

    def _run(self, trains: list[SimulatedTrain]) -> SimulatedRun:
        seconds = sum(train.rows * self.crossings[train.leaf].seconds for train in trains)
        ready = ReadyUnit(
            self.key,
            sum(train.rows for train in trains),
            min(train.arrived for train in trains),
            sum(train.held.size for train in trains),
            min(train.deadline for train in trains),
        )
        return SimulatedRun(trains, seconds, seconds, ready)
