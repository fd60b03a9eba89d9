"""Which first goes with which last, in SEQ and NOT: row by row.

Needed where no order of places tells a last's candidates: a last that lasts may precede, by its
start, another that ended before it. And where one row is both a first and a last, in a mode that
uses it up: whether it is still there as a first depends on what it has completed as a last. In all
other cases the answer is that of `pairing.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from penstock.events.occurrences.batch import Batch
from penstock.events.occurrences.bounds import OccurrenceBounds
from penstock.events.operators.pairs import Pairs
from penstock.model.events import Mode

Row = tuple[int, int, int]  # key, end and sequence number


@dataclass
class _OfKey:
    """The firsts of one key, by end: those that ended already, and those to come."""

    coming: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    between: list[tuple[int, int]] = field(default_factory=list)


@dataclass
class _Pairing:
    mode: Mode
    bounds: OccurrenceBounds
    ends: list[int]
    starts: list[int]
    used: list[int]
    roles: dict[Row, list[int]]
    gone: set[int] = field(default_factory=set)
    pairs: list[tuple[int, int]] = field(default_factory=list)
    dropped: int = 0

    def arrive(self, mine: _OfKey, end: int) -> None:
        """Hold the firsts that ended before this time."""
        coming = mine.coming
        while coming and self.ends[coming[-1]] < end:
            place = coming.pop()
            if place not in self.gone:
                mine.held.append(place)
        cap = self.bounds.cap
        if cap is not None and len(mine.held) > cap:
            self.gone.update(mine.held[:-cap])
            self.dropped += len(mine.held) - cap
            mine.held = mine.held[-cap:]

    def meet(self, last: int, row: Row, mine: _OfKey, since: int) -> None:
        """Pair one last with those of its candidates that the mode says."""
        floor = max((start for stop, start in mine.between if stop < since), default=None)
        within = self.bounds.within

        def candidates(places: Iterable[int]) -> Iterable[int]:
            return (
                i
                for i in places
                if self.ends[i] < since
                and (floor is None or self.ends[i] >= floor)
                and (within is None or row[1] - self.starts[i] <= within)
            )

        match self.mode:
            case Mode.UNRESTRICTED:
                chosen = list(candidates(mine.held))
            case Mode.RECENT:
                chosen = list(islice(candidates(reversed(mine.held)), 1))
            case Mode.RECENT_UNIQUE:
                newest = islice(candidates(reversed(mine.held)), 1)
                chosen = [each for each in newest if not self.used[each]]
                for each in chosen:
                    self.used[each] = 1
            case Mode.CHRONICLE:
                chosen = list(islice(candidates(mine.held), 1))
            case Mode.CONTINUOUS | Mode.CUMULATIVE:
                chosen = list(candidates(mine.held))
        if chosen:
            self.pairs.extend((last, each) for each in chosen)
            self.use_up(chosen, self.roles.get(row, []), mine)

    def use_up(self, firsts: list[int], own: list[int], mine: _OfKey) -> None:
        """Take what was paired out of what is held, and the last's own row out of the firsts."""
        if self.mode is Mode.RECENT_UNIQUE:
            for each in own:  # it still stands in the way of older ones
                self.used[each] = 1
        elif self.mode in {Mode.CHRONICLE, Mode.CONTINUOUS, Mode.CUMULATIVE}:
            self.gone.update(firsts, own)
            if len(firsts) == 1:
                mine.held.remove(firsts[0])
            else:
                mine.held = [each for each in mine.held if each not in self.gone]


def pair_rows(
    mode: Mode, firsts: Batch, middles: Batch, lasts: Batch, bounds: OccurrenceBounds
) -> Pairs:
    """Return who goes with whom, as `pair_columns` does, whatever the lasts' starts."""
    rows = list(_rows(firsts))
    keys: dict[int, _OfKey] = {}
    roles: dict[Row, list[int]] = {}
    for place in reversed(range(len(rows))):  # the next to come stands last
        keys.setdefault(rows[place][0], _OfKey()).coming.append(place)
        roles.setdefault(rows[place], []).append(place)
    middle_columns = (middles.key, middles.end, bounds.since(middles))
    for key, end, since in zip(*(each.tolist() for each in middle_columns), strict=True):
        keys.setdefault(key, _OfKey()).between.append((end, since))
    columns = (firsts.end.tolist(), firsts.start.tolist(), firsts.mark.tolist())
    pairing = _Pairing(mode, bounds, *columns, roles)
    none = _OfKey()
    for last, (row, since) in enumerate(
        zip(_rows(lasts), bounds.since(lasts).tolist(), strict=True)
    ):
        mine = keys.get(row[0], none)
        pairing.arrive(mine, row[1])
        pairing.meet(last, row, mine, since)
    left = np.ones(len(firsts), np.bool_)
    left[list(pairing.gone)] = False
    found = np.array(pairing.pairs, np.int64).reshape(-1, 2)
    mark = np.array(pairing.used, np.int64)
    return Pairs(found[:, 0], found[:, 1], left, mark, pairing.dropped)


def _rows(batch: Batch) -> Iterable[Row]:
    return zip(batch.key.tolist(), batch.end.tolist(), batch.seq.tolist(), strict=True)
