"""Parts of items that wait for each other, grouped by what they are matched by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.functions.data.items import Items, Numbers, StreamType
from penstock.functions.operators.operator import BEGIN
from penstock.functions.operators.s_merge import ARRIVED, INPUT
from penstock.model.own_names import own

KEY, TURN = own("key"), own("turn")  # what parts are matched by, after their time


@dataclass(frozen=True, slots=True)
class DecidedParts:
    """Up to which time items are decided, and the keys of those of that very time."""

    time: int = BEGIN
    keys: tuple[tuple[int, int], ...] = ()

    def to_json(self) -> list[Any]:
        """Return it as JSON can hold it."""
        return [self.time, [list(each) for each in self.keys]]

    @classmethod
    def from_json(cls, told: Sequence[Any]) -> "DecidedParts":
        """Return it from JSON."""
        return cls(told[0], tuple((number, turn) for number, turn in told[1]))


@dataclass(frozen=True, eq=False)
class Groups:
    """Parts that wait, in the order of their keys: time, number, turn. A group has one key.

    The rows themselves are not moved: row `order[starts[g] + k]` is the k-th part of group g.
    `patterns` says by bits which inputs a group has parts of.
    """

    items: Items
    table: pa.Table
    order: npt.NDArray[np.int64]
    keys: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    patterns: npt.NDArray[np.int64]
    inputs: int

    @classmethod
    def of(cls, kind: StreamType, table: pa.Table, inputs: int) -> "Groups":
        """Return the groups that parts form."""
        items = Items.from_table(kind, table)
        columns = [table[name].to_numpy() for name in (INPUT, TURN, KEY)]
        order = np.lexsort((*columns, items.times)).astype(np.int64)
        rows = np.stack([items.times, columns[2], columns[1]], axis=1)[order]
        fresh = np.ones(len(rows), dtype=bool)
        fresh[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        starts = np.flatnonzero(fresh).astype(np.int64)
        bits = np.left_shift(np.int64(1), columns[0][order].astype(np.int64))
        patterns = np.add.reduceat(bits, starts) if len(starts) else bits
        return cls(items, table, order, rows[starts], starts, patterns, inputs)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def full(self) -> int:
        """Return the pattern of a group that has all its parts."""
        return (1 << self.inputs) - 1

    def is_behind(self, decided: DecidedParts) -> npt.NDArray[np.bool_]:
        """Return which groups come after they were decided."""
        late = self.keys[:, 0] < decided.time
        for place in np.flatnonzero(self.keys[:, 0] == decided.time).tolist():
            late[place] = (int(self.keys[place, 1]), int(self.keys[place, 2])) in decided.keys
        return late

    def only(self, groups: npt.NDArray[np.bool_]) -> "Groups":
        """Return some of the groups."""
        if groups.all():
            return self
        sizes = np.diff(np.append(self.starts, len(self.order)))
        starts = np.concatenate(([0], np.cumsum(sizes[groups])))[:-1].astype(np.int64)
        return Groups(
            self.items,
            self.table,
            self.order[np.repeat(groups, sizes)],
            self.keys[groups],
            starts,
            self.patterns[groups],
            self.inputs,
        )

    def past(self, frontiers: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return which groups lack a part of an input that is past their time."""
        found = np.zeros(len(self), dtype=bool)
        for number, reached in enumerate(frontiers):
            lacks = (self.patterns >> number) & 1 == 0
            found |= lacks & (self.keys[:, 0] < reached)
        return found

    def first_arrived(self) -> npt.NDArray[np.float64]:
        """Return when the first part of each group came."""
        arrived = self.table[ARRIVED].to_numpy()[self.order]
        return np.minimum.reduceat(arrived, self.starts) if len(self) else arrived

    def first_open(self, given_up: npt.NDArray[np.bool_]) -> int:
        """Return how many groups are decided before one that has to wait."""
        open_groups = np.flatnonzero((self.patterns != self.full) & ~given_up)
        return int(open_groups[0]) if len(open_groups) else len(self)

    def decided(self, cut: int, before: DecidedParts) -> DecidedParts:
        """Return what is decided once the first `cut` groups are."""
        if not cut:
            return before
        time = int(self.keys[cut - 1, 0])
        same = self.keys[:cut][self.keys[:cut, 0] == time, 1:].tolist()
        old = before.keys if before.time == time else ()
        return DecidedParts(time, (*old, *((number, turn) for number, turn in same)))

    def lacking(self, pattern: int) -> list[int]:
        """Return the inputs that a pattern has no part of."""
        return [number for number in range(self.inputs) if not pattern >> number & 1]

    def aligned(self, groups: Numbers, pattern: int) -> list[Items | None]:
        """Return the parts of some groups of one pattern, input by input, row by row."""
        place = 0
        parts: list[Items | None] = []
        for number in range(self.inputs):
            has = bool(pattern >> number & 1)
            rows = self.order[self.starts[groups] + place] if has else None
            parts.append(None if rows is None else self.items.take(rows))
            place += has
        return parts

    def parts(self, groups: Numbers) -> Items:
        """Return all parts of some groups."""
        stops = np.append(self.starts[1:], len(self.order))
        spans = [self.order[self.starts[each] : stops[each]] for each in groups.tolist()]
        return self.items.take(np.concatenate(spans))

    def rest(self, cut: int) -> pa.Table:
        """Return the parts of all groups from `cut` on, as they are kept."""
        first = int(self.starts[cut]) if cut < len(self) else len(self.order)
        return self.table.take(pa.array(self.order[first:]))


def turns_of(times: Numbers, keys: Numbers, newest: Sequence[int]) -> Numbers:
    """Return how many equal ones came just before each item of one input."""
    pairs = np.stack([times, keys], axis=1)
    if not len(pairs):
        return np.empty(0, dtype=np.int64)
    fresh = np.ones(len(pairs), dtype=bool)
    fresh[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    starts = np.maximum.accumulate(np.where(fresh, np.arange(len(pairs)), 0))
    dispatcher = np.arange(len(pairs)) - starts
    if pairs[0].tolist() == list(newest[:2]):
        dispatcher[starts == 0] += newest[2] + 1
    return dispatcher.astype(np.int64)
