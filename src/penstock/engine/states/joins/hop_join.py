"""The state of a join window by window: tuples, pairs where they are kept, and the next window.

    next_start: the first window that has not closed; every earlier one has been answered.

As in an aggregate, a tuple is late where it missed a window that has closed, and still counts in
those of its windows that are open.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.processor import Leaf
from penstock.engine.states.joins.crowded_keys import Meeting, are_crowded
from penstock.engine.states.joins.kept_rows import (
    JoinRows,
    KeptRows,
    late_rows,
    timed_rows,
    undone,
    views_of,
)
from penstock.engine.states.parts import Part
from penstock.engine.states.state import KeptState, Run, RunOutput
from penstock.engine.trains.rows import empty_table
from penstock.engine.trains.sort_order import sorted_rows
from penstock.model.own_names import side
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators.joins.hop_join import HIGH, LOW, TIME, HopJoin

PAIRS = -1  # the number under which a checkpoint keeps them, beside the inputs'


@dataclass(slots=True)
class HopJoinState:
    """Tuples of each input; `begin` bounds the windows that it answers for."""

    join: HopJoin
    begin: int = BEGIN_OF_TIME
    next_start: int | None = None
    tuples: KeptRows = field(init=False)
    pairs: JoinRows = field(init=False)

    def __post_init__(self) -> None:
        """Keep nothing at first, and answer only for windows that start at or after `begin`."""
        places = range(len(self.join.joined))
        self.tuples = KeptRows.of(map(self.join.state_schema, places), TIME)
        self.pairs = JoinRows(self.join.pair_schema(), LOW, HIGH)
        if self.next_start is None:
            self.next_start = self.first_start

    @property
    def first_start(self) -> int | None:
        """Return the first window that this state answers for, or None where all count."""
        slide = self.join.slide
        return None if self.begin == BEGIN_OF_TIME else -(-self.begin // slide) * slide

    def step(self, run: Run) -> RunOutput:
        """Take tuples in, and join the windows that the watermark has passed."""
        mark = self.join.watermark(run.marks)
        arrived = [self._arrived(run, place) for place in range(len(self.tuples.sides))]
        new = self.tuples.parts_of(table for table, _ in arrived)
        with undone(new):
            pairs = self._found(run, new) if self.join.mode == "reuse" else None
        table = empty_table(run.unit.root.schema)
        if (starts := self._closing(mark, new)) is not None:
            with undone([*new, pairs]):
                table = self._closed(run, starts, [pairs] if self.join.mode == "reuse" else new)
        reached = self._reached(mark, new)
        needed_from = BEGIN_OF_TIME if reached is None else reached
        self.tuples.accept(new, [needed_from] * len(new), run.processor.spill, run.processor.room)
        self.pairs.accept(pairs, needed_from, run.processor.spill, run.processor.room)
        self.next_start = reached
        late = late_rows(self.join.late_schema, [each for _, each in arrived], [TIME])
        return RunOutput(table, late)

    def promise(self, marks: Sequence[int]) -> int:
        """Return the first start that a window to come has at least."""
        if self.join.watermark(marks) == END_OF_TIME:
            return END_OF_TIME
        return BEGIN_OF_TIME if self.next_start is None else self.next_start

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        parts = [*self.tuples.kept(), *self.pairs.kept(input=PAIRS)]
        return KeptState({"begin": self.begin, "next_start": self.next_start}, parts)

    @classmethod
    def back(cls, join: HopJoin, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        state = cls(join, kept.facts["begin"], kept.facts["next_start"])
        state.tuples.back(kept.parts)
        state.pairs.back(part for part in kept.parts if part.facts["input"] == PAIRS)
        return state

    def _arrived(self, run: Run, place: int) -> tuple[pa.Table, pa.Table | None]:
        """Return the tuples that an open window needs, and those that missed one."""
        table = timed_rows(run, place, self.join.joined[place], TIME)
        if self.next_start is None or not table.num_rows:
            return table, None
        late = None
        if self.next_start != self.first_start:
            missed = pc.less(table[TIME], self.next_start - self.join.slide + self.join.size)
            if self.first_start is not None:
                missed = pc.and_(missed, pc.greater_equal(table[TIME], self.first_start))
            late = table.filter(missed)
        return table.filter(pc.greater_equal(table[TIME], self.next_start)), late

    def _found(self, run: Run, new: Sequence[Part | None]) -> Part | None:
        """Return the pairs that new tuples make."""
        rows = self.tuples.in_play(new)
        meeting = Meeting(self.join.steps[0].on, (side(0), side(1)), self.join.reach)
        by_time = are_crowded(self.tuples, new, rows, meeting)
        sql = self.join.pairs_sql(views_of(run, rows), by_time=by_time)
        if not sql:
            return None
        table = run.select(sql, self.tuples.leaves(run, rows, sql), self.join.pair_schema())
        return self.pairs.part_of(table)

    def _closing(self, mark: int, new: Sequence[Part | None]) -> tuple[int, int] | None:
        """Return the first and the last window to close, or None; empty ones are passed over."""
        parts = self._parts(new)
        if not parts or mark == BEGIN_OF_TIME:
            return None
        low = self.join.first_window(min(part.first for part in parts))
        high = self.join.last_window(max(part.last for part in parts))
        if self.next_start is not None:
            low = max(low, self.next_start)
        if mark != END_OF_TIME:
            high = min(high, self.join.last_window(mark - self.join.size))
        return (low, high) if low <= high else None

    def _reached(self, mark: int, new: Sequence[Part | None]) -> int | None:
        """Return the first window that stays open."""
        reached = self.next_start
        if mark == END_OF_TIME:
            last = [self.join.last_window(part.last) for part in self._parts(new)]
            ends = [start + self.join.slide for start in last]
        else:
            after = self.join.last_window(mark - self.join.size) + self.join.slide
            ends = [] if mark == BEGIN_OF_TIME else [after]
        known = ends if reached is None else [*ends, reached]
        return max(known, default=None)

    def _parts(self, new: Sequence[Part | None]) -> list[Part]:
        return [*self.tuples.parts, *(part for part in new if part is not None)]

    def _closed(self, run: Run, starts: tuple[int, int], new: Sequence[Part | None]) -> pa.Table:
        """Return the rows of windows; `new` is not kept yet: tuples of each input, or pairs."""
        reuse = self.join.mode == "reuse"
        sides = (self.pairs,) if reuse else self.tuples.sides
        leaves: dict[str, Leaf] = {}
        for place, (each, part) in enumerate(zip(sides, new, strict=True)):
            rows = [*each.rows, *([part.rows] if part is not None else [])]
            leaves[run.view(f"rows_{place}")] = (rows, each.schema)  # an outer join needs all
        views = list(leaves)
        join = self.join
        sql = join.listed_sql(views[0], starts) if reuse else join.windows_sql(views, starts)
        table = run.select(run.unit.above_sql(f"({sql})"), leaves, run.unit.root.schema)
        return sorted_rows(table, [time.column for time in run.unit.root.times])
