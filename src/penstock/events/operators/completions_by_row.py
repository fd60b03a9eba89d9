"""Who completes whom in AND and ANY, row by row: each detection changes what the next one sees."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.occurrences.pool import Pool, Twins
from penstock.events.operators.completions import Meetings
from penstock.model.events import CONSUMING, Mode


@dataclass
class _Table:
    """The rows of one key as they meet: what is held of each part, oldest first."""

    parts: int
    count: int
    bounds: OccurrenceBounds
    start: list[int]
    end: list[int]
    part: list[int]
    used: list[int]
    twins: Twins
    spent: set[int] = field(default_factory=set)
    found: list[tuple[int, list[int]]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    dropped: int = 0
    held: list[deque[int]] = field(default_factory=list)

    def clear(self) -> None:
        self.held = [deque() for _ in range(self.parts)]

    def fits(self, row: int, at: int) -> bool:
        return self.bounds.within is None or self.end[at] - self.start[row] <= self.bounds.within

    def hold(self, at: int) -> None:
        mine = self.held[self.part[at]]
        mine.append(at)
        # Of what came before there may be more, too old for its span and not yet gone.
        while self.bounds.cap is not None and len(mine) > self.bounds.cap:
            self.gone.append(mine.popleft())
            self.dropped += 1

    def with_twins(self, places: Iterable[int]) -> set[int]:
        """Return these places and all others at which the same rows stand."""
        places = set(places)
        return places.union(*(self.twins[each] for each in places if each in self.twins))

    def consume(self, rows: list[int], at: int) -> None:
        """Drop consumed rows from every part, now and later."""
        leaving = self.with_twins((*rows, at))
        for place in leaving:
            mine = self.held[self.part[place]]
            if place in mine:
                mine.remove(place)
        self.gone.extend(leaving)
        if self.twins:
            self.spent |= leaving

    def others(self, at: int) -> int:
        return sum(1 for part, held in enumerate(self.held) if held and part != self.part[at])

    def newest(self, at: int, *, once: bool) -> None:
        seen = []
        for part, held in enumerate(self.held):
            if part == self.part[at]:
                continue
            row = next((each for each in reversed(held) if self.fits(each, at)), None)
            if row is not None and not (once and self.used[row]):
                seen.append(row)
        if len(seen) >= self.count - 1 and not (once and self.used[at]):
            members = sorted(seen)[len(seen) - self.count + 1 :]
            self.found.append((at, [*members, at]))
            if once:
                for row in self.with_twins((*members, at)):
                    self.used[row] = 1
        mine = self.held[self.part[at]]
        while mine and (self.bounds.within is None or self.start[mine[-1]] <= self.start[at]):
            self.gone.append(mine.pop())
        self.hold(at)

    def recent(self, at: int) -> None:
        self.newest(at, once=False)

    def recent_unique(self, at: int) -> None:
        self.newest(at, once=True)

    def chronicle(self, at: int) -> None:
        oldest = []
        for part, held in enumerate(self.held):
            if part == self.part[at]:
                continue
            while held and not self.fits(held[0], at):
                self.gone.append(held.popleft())
            if held:
                oldest.append(held[0])
        if len(oldest) < self.count - 1:
            self.hold(at)
            return
        members = sorted(oldest)[: self.count - 1]
        self.found.append((at, [*members, at]))
        self.consume(members, at)

    def continuous(self, at: int) -> None:
        mine = self.part[at]
        if self.others(at) < self.count - 1:
            self.hold(at)
            return
        rows = sorted(
            row
            for part, held in enumerate(self.held)
            if part != mine
            for row in held
            if self.fits(row, at)
        )
        begun = []
        for place, row in enumerate(rows):
            members = {self.part[row]: row}
            for later in rows[place + 1 :]:
                if len(members) >= self.count - 1:
                    break
                members.setdefault(self.part[later], later)
            if len(members) < self.count - 1:
                break
            self.found.append((at, [*sorted(members.values()), at]))
            begun.append(row)
        if not begun:
            self.hold(at)
            return
        self.consume(begun, at)

    def cumulative(self, at: int) -> None:
        if self.others(at) < self.count - 1:
            self.hold(at)
            return
        rows = [row for held in self.held for row in held if self.fits(row, at)]
        others = {self.part[row] for row in rows} - {self.part[at]}
        if len(others) < self.count - 1:
            self.hold(at)
            return
        self.found.append((at, [*sorted(rows), at]))
        self.consume(rows, at)


def meet_rows(mode: Mode, pool: Pool, parts: int, count: int, bounds: OccurrenceBounds) -> Meetings:
    """Combine each new occurrence with those held, in any mode but unrestricted."""
    table = _Table(
        parts,
        count,
        bounds,
        pool.start.tolist(),
        pool.end.tolist(),
        pool.part.tolist(),
        pool.mark.tolist(),
        pool.twins() if mode in CONSUMING else {},
    )
    meet: Callable[[int], None] = {
        Mode.RECENT: table.recent,
        Mode.RECENT_UNIQUE: table.recent_unique,
        Mode.CHRONICLE: table.chronicle,
        Mode.CONTINUOUS: table.continuous,
        Mode.CUMULATIVE: table.cumulative,
    }[mode]
    key = None
    for at, (now, new) in enumerate(zip(pool.key.tolist(), pool.new.tolist(), strict=True)):
        if now != key:
            key = now
            table.clear()
        if new and at not in table.spent:
            meet(at)
        elif new:
            continue
        else:
            table.held[table.part[at]].append(at)
    left = np.ones(len(pool), np.bool_)
    left[table.gone] = False
    members = [row for _, rows in table.found for row in rows]
    sizes = [len(rows) for _, rows in table.found]
    return Meetings(
        np.array([at for at, _ in table.found], np.int64),
        np.repeat(np.arange(len(sizes)), sizes),
        np.array(members, np.int64),
        left,
        np.array(table.used, np.int64),
        table.dropped,
    )
