"""The windows of one key that a first opens and a last closes: shared by A, A*, P and P*.

At one instant lasts close before anything else is looked at, and firsts open after it. A window
that was opened by an occurrence that no longer fits into the span is as good as closed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.occurrences.pool import Pool, Twins
from penstock.model.events import CONSUMING, Mode


@dataclass
class Found:
    """Detections of one operator, as places in its pool; `inside` may be times of ticks."""

    at: list[int] = field(default_factory=list)
    firsts: list[list[int]] = field(default_factory=list)
    inside: list[list[int]] = field(default_factory=list)

    def add(self, at: int, firsts: list[int], inside: list[int]) -> None:
        """Add a detection that becomes known with the row `at`."""
        self.at.append(at)
        self.firsts.append(firsts)
        self.inside.append(inside)


@dataclass
class OpenWindows:
    """Which firsts are open, oldest first."""

    mode: Mode
    bounds: OccurrenceBounds
    at_once: bool
    start: list[int]
    end: list[int]
    since: list[int]
    used: list[int]
    twins: Twins
    spent: set[int] = field(default_factory=set)
    open: list[int] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    dropped: int = 0

    def fits(self, first: int, at: int) -> bool:
        """Say whether a window's first and this row fit into the span."""
        within = self.bounds.within
        return within is None or self.end[at] - self.start[first] <= within

    def opened(self, at: int) -> None:
        """Open a window, in place of others where the mode says so."""
        if at in self.spent:
            self.gone.append(at)
            return
        if self.mode in {Mode.RECENT, Mode.RECENT_UNIQUE} and self.at_once:
            within = self.bounds.within
            while self.open and (within is None or self.start[self.open[-1]] <= self.start[at]):
                self.gone.append(self.open.pop())
        self.open.append(at)
        if self.bounds.cap is not None and len(self.open) > self.bounds.cap:
            self.gone.append(self.open.pop(0))
            self.dropped += 1

    def preceding(self, at: int) -> list[int]:
        """Return the open windows that this row is in."""
        since = self.since[at]
        return [each for each in self.open if self.end[each] < since and self.fits(each, at)]

    def chosen(self, windows: list[int]) -> list[list[int]]:
        """Return the groups of windows that the mode lets one row meet."""
        match self.mode:
            case Mode.UNRESTRICTED | Mode.CONTINUOUS:
                return [[each] for each in windows]
            case Mode.RECENT:
                return [windows[-1:]] if windows else []
            case Mode.RECENT_UNIQUE:
                if not windows or self.used[windows[-1]]:
                    return []
                self.used[windows[-1]] = 1
                return [windows[-1:]]
            case Mode.CHRONICLE:
                return [windows[:1]] if windows else []
            case Mode.CUMULATIVE:
                return [windows] if windows else []

    def use_up(self, places: Iterable[int]) -> None:
        """Close the windows that consumed rows have opened; they open no more."""
        twins = {twin for place in places for twin in self.twins.get(place, ())}
        if twins:
            self.spent |= twins
            self.gone.extend(each for each in self.open if each in twins)
            self.open = [each for each in self.open if each not in twins]

    def closed(self, at: int) -> list[int]:
        """Close the windows that this last closes, and return those that fit, oldest first."""
        since = self.since[at]
        closing = [each for each in self.open if self.end[each] < since]
        fitting = [each for each in closing if self.fits(each, at)]
        if self.mode is Mode.CHRONICLE:
            late = set(closing) - set(fitting)
            closing, fitting = [*late, *fitting[:1]], fitting[:1]
        leaving = set(closing)
        self.gone.extend(closing)
        self.open = [each for each in self.open if each not in leaving]
        return fitting


def windows_of(pool: Pool, mode: Mode, bounds: OccurrenceBounds, at_once: bool) -> OpenWindows:
    """Return the windows over a pool, none of them open yet."""
    since = pool.end if bounds.point else pool.start
    columns = (pool.start.tolist(), pool.end.tolist(), since.tolist(), pool.mark.tolist())
    twins = pool.twins() if mode in CONSUMING else {}
    return OpenWindows(mode, bounds, at_once, *columns, twins)
