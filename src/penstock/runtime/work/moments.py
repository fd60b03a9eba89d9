"""Moments: since when the rows of a run have been due (decision 0043).

    arrived   when the newest tuple came that the rows are made of; latency counts from it
    ready     when the rows could first be given; delay counts from it

A row of a filter or a join is due when its tuples come. A row of a window is due when the tuple
or the clock tick comes that closes the window, which is later by the slack and by the silence
behind the window's last tuple. Both are told by the train: of several, the earliest counts, so that
no figure is smaller than what anybody had.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.engine.trains.buffers import Train
from penstock.model.trains import TrainInfo
from penstock.plan.operators import Operator, SessionAggregate, key
from penstock.plan.operators.completion import completion, waiting_operators
from penstock.plan.sharing.units import Unit
from penstock.runtime.work.reading import Inputs, Reading

MOST_ARRIVALS = 1024  # trains ahead of a watermark: a stuck one must not gather them for ever


@dataclass(frozen=True, slots=True)
class Moments:
    """Seconds since 1970; `arrived` is never after `ready`."""

    arrived: float
    ready: float


@dataclass(slots=True)
class Arrivals:
    """The first event times of trains and when they arrived; both only rise.

    A train that is followed by one with earlier tuples is left out: that one is the newest for
    every window that the former has tuples in.
    """

    firsts: list[int] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)

    def add(self, first: int, arrived: float) -> None:
        """Take a train in."""
        place = bisect_left(self.firsts, first)
        if place and self.moments[place - 1] >= arrived:
            return
        end = place
        while end < len(self.firsts) and self.moments[end] <= arrived:
            end += 1
        if end == place and place < len(self.firsts) and self.firsts[place] == first:
            return
        self.firsts[place:end], self.moments[place:end] = [first], [arrived]
        if len(self.firsts) > MOST_ARRIVALS:
            del self.firsts[0], self.moments[0]

    def newest_before(self, end: int) -> float | None:
        """Return when the newest train with tuples before a time arrived."""
        place = bisect_left(self.firsts, end)
        return self.moments[place - 1] if place else None

    def forget(self, mark: int) -> None:
        """Let go of what windows that end after a watermark need no more."""
        place = max(0, bisect_left(self.firsts, mark) - 1)
        del self.firsts[:place], self.moments[:place]


@dataclass(slots=True)
class RunMoments:
    """The trains of one run of a unit, in the order in which they came."""

    unit: Unit
    reading: Reading  # ahead of the run
    inputs: Inputs
    arrivals: Arrivals
    _oldest: Moments | None = field(init=False)
    _before: int = field(init=False)
    _waiting: Mapping[str, Operator] = field(init=False)
    _order: list[tuple[float, str]] = field(init=False)
    _found: dict[int, float | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Take the trains in."""
        self._oldest = _oldest([train.info for _, train in self._trains()])
        self._before = min(self.reading.below(self.unit), default=0)
        self._waiting = waiting_operators(self.unit.stateful, self.unit.root)
        self._order = sorted((t.info.ready, name) for name, t in self._trains())
        if self._waiting:
            self._take_in()

    def _take_in(self) -> None:
        leaves = zip(self.unit.inputs, self.unit.leaves, strict=True)
        offsets = {name: leaf.times[0].offset if leaf.times else 0 for name, leaf in leaves}
        for name, train in self._trains():
            if train.rows.count and train.info.first is not None:
                self.arrivals.add(train.info.first - offsets[name], train.info.arrived)

    def forget(self, marks: tuple[int, ...]) -> None:
        """Let go of arrivals that no later run asks for; `marks` are the watermarks after it."""
        stateful = self.unit.stateful
        kept = stateful.gap if isinstance(stateful, SessionAggregate) else 0
        self.arrivals.forget(min(marks, default=0) - kept)

    def of(self, root: Operator, first: int | None) -> Moments | None:
        """Return since when rows with this first event time were due; None without any train."""
        operator, oldest = self._waiting.get(key(root)), self._oldest
        if operator is None or oldest is None:
            return oldest
        found = completion(operator, root, self._before, first)
        ready = None if found is None else self._reached(found.mark)
        if found is None or ready is None:
            return oldest
        arrived = self.arrivals.newest_before(found.end)
        return Moments(min(ready, oldest.arrived if arrived is None else arrived), ready)

    def _reached(self, mark: int) -> float | None:
        """Return when the train came at which the unit's watermark gets that far, if it does."""
        if mark not in self._found:  # members of a bundle ask for the same
            self._found[mark] = self._search(mark)
        return self._found[mark]

    def _search(self, mark: int) -> float | None:
        low, high = 0, len(self._order)
        if min(self._after(high), default=mark) < mark:
            return None
        while low + 1 < high:
            middle = (low + high) // 2
            low, high = (low, middle) if min(self._after(middle)) >= mark else (middle, high)
        return self._order[high - 1][0]

    def _after(self, count: int) -> tuple[int, ...]:
        """Return the watermarks of the unit's inputs after the first trains to come."""
        taken = [name for _, name in self._order[:count]]
        some = {name: trains[: taken.count(name)] for name, trains in self.inputs.items()}
        return self.reading.after(self.unit, some).reached

    def _trains(self) -> Iterator[tuple[str, Train]]:
        return ((name, train) for name, trains in self.inputs.items() for train in trains)


def _oldest(trains: Sequence[TrainInfo]) -> Moments | None:
    """Return the moments of rows that wait for nothing; trains without rows add none."""
    full = [each for each in trains if each.rows] or trains
    if not full:
        return None
    return Moments(min(each.arrived for each in full), min(each.ready for each in full))
