"""Rows of a join by their keys: those that are needed no more go one by one, and far ones to disk.

A part spans keys. What lies wholly behind goes as it is; a part that is needed in part is filtered,
and since keys grow in the long run those are few.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.states.joins.kept_rows import MERGE_ROWS, JoinRows
from penstock.engine.states.parts import Part, crowded, spill_large
from penstock.engine.trains.memory_budget import MemoryBudget
from penstock.engine.trains.rows import Rows, in_memory, laid_together, value_bytes
from penstock.errors import PenstockError
from penstock.model.trains import END_OF_TIME

ROW_BYTES = 24  # where none is in memory to be measured

Span = tuple[int, int]  # of keys, both ends among them


@dataclass(slots=True)
class KeyRows(JoinRows):
    """The rows of one input; `low` and `high` both name the key."""

    @property
    def in_memory(self) -> list[Part]:
        """Return the parts that are in memory."""
        return [part for part in self.parts if part.rows.table is not None]

    @property
    def memory_bytes(self) -> int:
        """Return what their values take in memory."""
        return sum(value_bytes(part.rows.table) for part in self.in_memory)

    @property
    def whole_bytes(self) -> float:
        """Return about what all of its values would take in memory, also those on disk."""
        (near, far), size = self.counts(), self.memory_bytes
        return size + far * (size / near if near else ROW_BYTES)

    def counts(self) -> tuple[int, int]:
        """Return how many rows are in memory, and how many on disk alone."""
        near = sum(part.rows.count for part in self.in_memory)
        return near, sum(part.rows.count for part in self.parts) - near

    def meeting(self, span: Span | None, needed_after: int | None) -> list[Rows]:
        """Return the rows of parts with keys in a span, without those that are needed no more.

        A part that is on disk comes as it is needed.
        """
        if span is None:
            return []
        near = [part for part in self.parts if part.first <= span[1] and part.last >= span[0]]
        return [rows for part in near if (rows := self._needed(part, needed_after)).count]

    def let_go(
        self, new: Part | None, needed_after: int | None, spill: Path, room: MemoryBudget
    ) -> None:
        """Keep a part, and let go of the rows whose keys are not above what is needed."""
        parts = [*self.parts, *([new] if new is not None else ())]
        needed = [part for part in parts if needed_after is None or part.last > needed_after]
        for part in parts:
            if needed_after is not None and part.last <= needed_after:
                part.rows.delete()
        self.parts = [self._filtered(part, needed_after) for part in needed]
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._merge()
            spill_large(self.in_memory, spill, room)

    def bring_near(self, until: int) -> None:
        """Read parts back from disk that begin at or before a key."""
        for part in self.parts:
            if part.rows.table is None and part.first <= until:
                part.rows.table = part.rows.to_table(self.schema)

    def send_far(self, most_rows: float, most_bytes: float, near: int, spill: Path) -> None:
        """Send rows to disk if those in memory do not fit: the furthest from being needed first.

        Those with keys up to `near` are needed now. Of the others half of what fits stays, so that
        files are not small.
        """
        rows, size = self.counts()[0], self.memory_bytes
        if rows <= most_rows and size <= most_bytes:
            return
        parts, level = self.in_memory, max(part.level for part in self.in_memory)
        table = laid_together([part.rows.to_table(self.schema) for part in parts])
        table = table.sort_by(self.low)
        needed = pc.sum(pc.less_equal(table[self.low], near)).as_py()
        fitting = int(min(most_rows, most_bytes * rows / size) / 2)
        stays = max(needed, fitting)
        if stays >= rows:
            return
        far = Part(in_memory(table.slice(stays).combine_chunks()), *self._span(table.slice(stays)))
        far.rows.leave_memory(spill)
        rest = table.slice(0, stays).combine_chunks()
        gone = {id(part) for part in parts}
        self.parts = [*(each for each in self.parts if id(each) not in gone), far]
        if stays:
            self.parts.append(Part(in_memory(rest), *self._span(rest), level))
        for part in parts:
            part.rows.delete()

    def _needed(self, part: Part, needed_after: int | None) -> Rows:
        if needed_after is None or part.first > needed_after:
            return part.rows
        return in_memory(_above(part.rows.to_table(self.schema), self.low, needed_after))

    def _filtered(self, part: Part, needed_after: int | None) -> Part:
        """Return a part without what is needed no more; on disk it stays until all of it goes."""
        if needed_after is None or part.first > needed_after or part.rows.table is None:
            return part
        table = _above(part.rows.table, self.low, needed_after)
        part.rows.delete()
        return Part(in_memory(table), *self._span(table), part.level)

    def _merge(self) -> None:
        """Merge parts of one level in memory once there are many."""
        while parts := crowded([p for p in self.in_memory if p.rows.count < MERGE_ROWS]):
            table = laid_together([part.rows.to_table(self.schema) for part in parts])
            table = table.combine_chunks()
            merged = Part(in_memory(table), *self._span(table), parts[0].level + 1)
            gone = {id(part) for part in parts}
            self.parts = [*(part for part in self.parts if id(part) not in gone), merged]
            for part in parts:
                part.rows.delete()


def _above(table: pa.Table, key: str, until: int) -> pa.Table:
    if until == END_OF_TIME:
        return table.slice(0, 0)
    return table.filter(pc.greater(table[key], until)).combine_chunks()
