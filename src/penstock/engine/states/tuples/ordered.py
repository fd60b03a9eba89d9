"""The state of an order: the tuples that the watermark has not reached, and how many it has.

A part is sorted by time, ties by arrival, and parts stand in order of arrival: what is ready is
the head of each. Sixteen parts of one level are merged into one of the next, so that a tuple is
sorted again only once per level.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.states.state import KeptPart, KeptState, Run, RunOutput
from penstock.engine.trains.rows import Rows, empty_table, fit, in_memory, laid_together
from penstock.engine.trains.types import arrow_schema
from penstock.errors import PenstockError
from penstock.model.schema import Schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators import key
from penstock.plan.operators.tuples.ordered import NUMBER, Ordered

MERGE_PARTS = 16  # as many heads are looked at in a run without being felt
WAITING_BYTES = 64 << 20  # what waits in memory beyond that goes to disk, the newest first


@dataclass(frozen=True, slots=True)
class WaitingRows:
    """Tuples that wait, sorted, and their first time."""

    rows: Rows
    first: int
    level: int = 0


@dataclass(slots=True)
class OrderedState:
    """`count` tuples have their place."""

    operator: Ordered
    count: int = 0
    parts: list[WaitingRows] = field(default_factory=list)

    def step(self, run: Run) -> RunOutput:
        """Sort the new tuples in, and number those that the watermark has reached."""
        arrived, late = self._judged(arrivals(run), self._mark(run.before))
        ready, left = self._split(arrived, self._mark(run.marks))
        table = self._numbered(self._sorted(laid_together(ready)))
        stay = {id(part) for part in left}
        gone = [part.rows for part in self.parts if id(part) not in stay]
        self.parts, self.count = left, self.count + table.num_rows
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._tidy(run.processor)
        for rows in gone:
            rows.delete()
        return RunOutput(table, late)

    def promise(self, marks: Sequence[int]) -> int:
        """Return the input's watermark, or the number that comes next."""
        if self.operator.axis == "time" or marks[0] == END_OF_TIME:
            return marks[0]
        return self.count + 1

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        parts = [KeptPart(p.rows, {"first": p.first, "level": p.level}) for p in self.parts]
        return KeptState({"count": self.count}, parts)

    @classmethod
    def back(cls, operator: Ordered, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        parts = [WaitingRows(p.rows, p.facts["first"], p.facts["level"]) for p in kept.parts]
        return cls(operator, kept.facts["count"], parts)

    @property
    def _schema(self) -> Schema:
        return self.operator.input.schema

    def _mark(self, marks: Sequence[int]) -> int:
        """Return the watermark of the column that orders."""
        return shifted(marks[0], self.operator.time.offset) if self.operator.time else marks[0]

    def _judged(self, table: pa.Table, before: int) -> tuple[pa.Table, pa.Table | None]:
        """Return the tuples that have a place, and those that the watermark had passed."""
        if self.operator.time is None or before == BEGIN_OF_TIME or not table.num_rows:
            return table, None
        is_late = pa.array(self._times(table) < before)
        if not is_late.true_count:
            return table, None
        return table.filter(pc.invert(is_late)), table.filter(is_late)

    def _split(self, arrived: pa.Table, mark: int) -> tuple[list[pa.Table], list[WaitingRows]]:
        """Return the tuples that are ready, oldest arrivals first, and the parts that stay."""
        nothing = empty_table(self._schema)
        if self.operator.time is None:
            return [nothing, arrived], []
        ready, left = [nothing], []
        for part in (*self.parts, *self._parts_of(self._sorted(arrived))):
            if part.first > mark:
                left.append(part)
                continue
            table = self._read(part.rows)
            place = int(np.searchsorted(self._times(table), mark, side="right"))
            ready.append(table.slice(0, place))
            left += self._parts_of(table.slice(place), part.level)
        return ready, left

    def _parts_of(self, table: pa.Table, level: int = 0) -> Iterator[WaitingRows]:
        if table.num_rows:
            yield WaitingRows(in_memory(table), int(self._times(table.slice(0, 1))[0]), level)

    def _sorted(self, table: pa.Table) -> pa.Table:
        """Return the tuples by time; those of one time stay as they stand."""
        if self.operator.time is None:
            return table
        times = self._times(table)
        if bool(np.all(times[1:] >= times[:-1])):
            return table
        return table.combine_chunks().take(pa.array(np.argsort(times, kind="stable")))

    def _times(self, table: pa.Table) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        assert self.operator.time is not None  # noqa: S101  (arrival has no times)
        times = pc.fill_null(table[self.operator.time.column].cast(pa.int64()), BEGIN_OF_TIME)
        return np.asarray(times.to_numpy(), dtype=np.int64)

    def _numbered(self, table: pa.Table) -> pa.Table:
        numbers = np.arange(self.count + 1, self.count + 1 + table.num_rows, dtype=np.int64)
        whole = table.append_column(NUMBER, pa.array(numbers))
        return fit(whole, arrow_schema(self.operator.schema))

    def _read(self, rows: Rows) -> pa.Table:
        return fit(rows.to_table(self._schema), arrow_schema(self._schema))

    def _tidy(self, processor: Processor) -> None:
        """Merge parts and spill what is too much; what fails is tried again after the next run."""
        while parts := self._to_merge():
            merged = self._sorted(laid_together([self._read(part.rows) for part in parts]))
            # Those of a level are newer than all of higher levels: the order of arrival stays.
            level = parts[0].level
            older = [part for part in self.parts if part.level > level]
            newer = [part for part in self.parts if part.level < level]
            self.parts = [*older, *self._parts_of(merged, level + 1), *newer]
            for part in parts:
                part.rows.delete()
        room = WAITING_BYTES
        for part in self.parts:
            room -= part.rows.memory_bytes
            if room < 0:
                part.rows.leave_memory(processor.spill)

    def _to_merge(self) -> list[WaitingRows]:
        for level in range(max((part.level for part in self.parts), default=0) + 1):
            parts = [part for part in self.parts if part.level == level]
            if len(parts) >= MERGE_PARTS:
                return parts
        return []


def arrivals(run: Run) -> pa.Table:
    """Return the tuples of the stateful operator's input in the order of their arrival.

    Several files of one leaf would be scanned largest first, so each leaf is made one table.
    """
    stateful = run.unit.stateful
    assert stateful is not None  # noqa: S101  (it is a state that asks)
    (below,) = stateful.inputs
    if key(below) in run.rows:  # nothing to compute: Spark is not asked
        return _whole(run.rows[key(below)], below.schema)
    whole = with_whole_leaves(run)
    return run.select(whole.input_sql(), whole.leaves(), below.schema, single=False)


def with_whole_leaves(run: Run) -> Run:
    """Return the run with each leaf as one table, whose rows Spark leaves in their order."""
    leaves = {key(each): each.schema for each in run.unit.leaves}
    rows = {
        name: parts if _is_one(parts) else [in_memory(_whole(parts, leaves[name]))]
        for name, parts in run.rows.items()
    }
    return replace(run, rows=rows)


def _is_one(rows: Sequence[Rows]) -> bool:
    return len(rows) == 1 and (rows[0].table is not None or len(rows[0].paths) == 1)


def _whole(rows: Sequence[Rows], schema: Schema) -> pa.Table:
    wanted = arrow_schema(schema)
    tables = [fit(each.to_table(schema), wanted) for each in rows]
    return laid_together([wanted.empty_table(), *tables])
