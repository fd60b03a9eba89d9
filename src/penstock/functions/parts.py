"""Parts of items that wait for each other, grouped by what they are matched by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.functions.items import Items, Numbers
from penstock.functions.operator import BEGIN, Withheld
from penstock.functions.s_merge import ARRIVED, INPUT
from penstock.functions.types import StreamType

KEY, TURN = "_key", "_turn"  # what parts are matched by, after their time
Key = tuple[int, int, int]
FIRST: Key = (BEGIN, BEGIN, BEGIN)


@dataclass(frozen=True, eq=False)
class Groups:
    """Parts that wait, in the order of their keys: group g is the rows of one key.

    `patterns` says by bits which inputs a group has parts of.
    """

    items: Items
    table: pa.Table
    keys: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    patterns: npt.NDArray[np.int64]
    inputs: int

    @classmethod
    def of(cls, kind: StreamType, table: pa.Table, inputs: int) -> "Groups":
        """Return the groups that parts form."""
        items = Items.from_table(kind, table)
        columns = [table[name].to_numpy() for name in (INPUT, TURN, KEY)]
        order = np.lexsort((*columns, items.times))
        table, items = table.take(pa.array(order)), items.take(order)
        rows = np.stack([items.times, columns[2][order], columns[1][order]], axis=1)
        fresh = np.ones(len(rows), dtype=bool)
        fresh[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        starts = np.flatnonzero(fresh).astype(np.int64)
        bits = np.left_shift(np.int64(1), columns[0][order].astype(np.int64))
        patterns = np.add.reduceat(bits, starts) if len(starts) else bits
        return cls(items, table, rows[starts], starts, patterns, inputs)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def full(self) -> int:
        """Return the pattern of a group that has all its parts."""
        return (1 << self.inputs) - 1

    def key(self, group: int) -> Key:
        """Return the time, the number and the turn of a group."""
        time, number, turn = self.keys[group].tolist()
        return time, number, turn

    def behind(self, decided: Key) -> tuple[int, tuple[Withheld, ...]]:
        """Return how many groups come after they were decided, and their parts as late."""
        count = self._below(decided, through=True)
        if not count:
            return 0, ()
        late = self.parts(np.arange(count))
        return count, (Withheld("late", "os_join", "its item has been decided", late),)

    def without(self, count: int) -> "Groups":
        """Return all groups but the first ones."""
        if not count:
            return self
        first = int(self.starts[count]) if count < len(self) else len(self.items)
        return Groups(
            self.items.slice(first),
            self.table.slice(first),
            self.keys[count:],
            self.starts[count:] - first,
            self.patterns[count:],
            self.inputs,
        )

    def past(self, frontiers: Sequence[int], newest: Sequence[list[int]]) -> npt.NDArray[np.bool_]:
        """Return which groups lack a part of an input that is past them."""
        found = np.zeros(len(self), dtype=bool)
        for number in range(self.inputs):
            lacks = (self.patterns >> number) & 1 == 0
            known = max(
                int(np.searchsorted(self.keys[:, 0], frontiers[number], side="left")),
                self._below((newest[number][0], newest[number][1], newest[number][2])),
            )
            found[:known] |= lacks[:known]
        return found

    def first_arrived(self) -> npt.NDArray[np.float64]:
        """Return when the first part of each group came."""
        arrived = self.table[ARRIVED].to_numpy()
        return np.minimum.reduceat(arrived, self.starts) if len(self) else arrived

    def first_open(self, given_up: npt.NDArray[np.bool_]) -> int:
        """Return how many groups are decided before one that has to wait."""
        open_groups = np.flatnonzero((self.patterns != self.full) & ~given_up)
        return int(open_groups[0]) if len(open_groups) else len(self)

    def lacking(self, pattern: int) -> list[int]:
        """Return the inputs that a pattern has no part of."""
        return [number for number in range(self.inputs) if not pattern >> number & 1]

    def aligned(self, groups: Numbers, pattern: int) -> list[Items | None]:
        """Return the parts of some groups of one pattern, input by input, row by row."""
        place, parts = 0, []
        for number in range(self.inputs):
            has = bool(pattern >> number & 1)
            parts.append(self.items.take(self.starts[groups] + place) if has else None)
            place += has
        return parts

    def parts(self, groups: Numbers) -> Items:
        """Return all parts of some groups."""
        stops = np.append(self.starts[1:], len(self.items))
        spans = [np.arange(self.starts[each], stops[each]) for each in groups.tolist()]
        return self.items.take(np.concatenate(spans))

    def rest(self, cut: int) -> pa.Table:
        """Return the parts of all groups from `cut` on, as they are kept."""
        return self.table.slice(int(self.starts[cut]) if cut < len(self) else len(self.items))

    def _below(self, key: Key, *, through: bool = False) -> int:
        """Return how many groups have a lesser key, or also the same one."""
        time, number, turn = key
        low, high = np.searchsorted(self.keys[:, 0], [time, time + (time < 2**63 - 1)]).tolist()
        same = self.keys[low:high]
        less = (same[:, 1] < number) | ((same[:, 1] == number) & (same[:, 2] < turn + through))
        return int(low) + int(less.sum())


def turns_of(times: Numbers, keys: Numbers, newest: Sequence[int]) -> Numbers:
    """Return how many equal ones came before each item of one input, the newest one included."""
    pairs = np.stack([times, keys], axis=1)
    if not len(pairs):
        return np.empty(0, dtype=np.int64)
    fresh = np.ones(len(pairs), dtype=bool)
    fresh[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    starts = np.maximum.accumulate(np.where(fresh, np.arange(len(pairs)), 0))
    turns = np.arange(len(pairs)) - starts
    if pairs[0].tolist() == list(newest[:2]):
        turns[starts == 0] += newest[2] + 1
    return turns.astype(np.int64)
