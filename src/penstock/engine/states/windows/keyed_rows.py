"""The state of windows per partition: tuples that a window still needs, and counts.

Both are appended to. Of several counts of a partition the greatest is the latest.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.processor import Leaf
from penstock.engine.states.state import KeptPart, KeptState, Run, RunOutput
from penstock.engine.trains.rows import COMPACT_PARTS, Rows, empty_table, in_memory
from penstock.engine.trains.sort_order import sorted_rows
from penstock.errors import PenstockError
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators.windows.keyed_rows import (
    BASE,
    COUNT,
    HOLDS,
    IS_LAST,
    IS_NEEDED,
    PLACE,
    TOTAL,
    KeyedRows,
)


@dataclass(slots=True)
class KeyedRowsState:
    """Tuples with their place in their partition, and how many each partition has had."""

    operator: KeyedRows
    tuples: list[Rows] = field(default_factory=list)
    counts: list[Rows] = field(default_factory=list)

    def step(self, run: Run) -> RunOutput:
        """Number the new tuples, and answer for the windows that they fill."""
        numbered = self._numbered(run) if run.count else None
        at_end = run.marks[0] == END_OF_TIME
        table = self._closed(run, numbered, at_end=at_end)
        if at_end:
            self._forget()
        elif numbered is not None:
            self._accept(numbered)
            # The run counts from here on, so nothing below may fail it: it would be done again.
            with suppress(PenstockError, OSError):
                self._tidy(run)
        return RunOutput(sorted_rows(table, ()))

    def promise(self, marks: Sequence[int]) -> int:
        """Return nothing but the end: windows of different partitions have no common order."""
        return END_OF_TIME if marks[0] == END_OF_TIME else BEGIN_OF_TIME

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        tuples = [KeptPart(rows, {"is": "tuples"}) for rows in self.tuples]
        counts = [KeptPart(rows, {"is": "counts"}) for rows in self.counts]
        return KeptState({}, [*tuples, *counts])

    @classmethod
    def back(cls, operator: KeyedRows, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        tuples = [part.rows for part in kept.parts if part.facts["is"] == "tuples"]
        counts = [part.rows for part in kept.parts if part.facts["is"] == "counts"]
        return cls(operator, tuples, counts)

    def _numbered(self, run: Run) -> pa.Table:
        leaves, counts = run.leaves(), None
        if self.counts:
            counts = run.view("counts")
            leaves[counts] = (self.counts, None)
        return run.select(self.operator.number_sql(f"({run.input_sql()})", counts), leaves)

    def _closed(self, run: Run, numbered: pa.Table | None, *, at_end: bool) -> pa.Table:
        """Return the root's rows of the windows that close."""
        nothing = empty_table(run.unit.root.schema)
        new = [] if numbered is None else [in_memory(self._tuples_of(numbered, HOLDS))]
        tuples = [rows for rows in (*self.tuples, *new) if rows.count]
        if not tuples or not (at_end or self._fills(numbered)):
            return nothing
        leaves: dict[str, Leaf] = {run.view("tuples"): (tuples, None)}
        spans = counts = None
        if numbered is not None:
            spans = run.view("spans")
            leaves[spans] = ([in_memory(numbered.filter(numbered[IS_LAST]))], None)
        if at_end and self.counts:
            counts = run.view("counts")
            leaves[counts] = (self.counts, None)
        sql = self.operator.close_sql(
            run.view("tuples"), f"({self.operator.all_spans_sql(spans, counts)})", at_end=at_end
        )
        return run.select(run.unit.above_sql(f"({sql})"), leaves, run.unit.root.schema)

    def _fills(self, numbered: pa.Table | None) -> bool:
        """Say whether the new tuples fill a window."""
        if numbered is None:
            return False
        lasts = numbered.filter(numbered[IS_LAST])
        rows, slide = self.operator.rows, self.operator.slide
        full = [
            pc.floor(pc.divide(pc.subtract(lasts[each].cast(pa.float64()), rows), slide))
            for each in (BASE, TOTAL)
        ]
        fills = pc.and_(pc.greater(full[1], full[0]), pc.greater_equal(lasts[TOTAL], rows))
        return bool(pc.any(fills, min_count=0).as_py())

    def _tuples_of(self, numbered: pa.Table, *conditions: str) -> pa.Table:
        for each in conditions:
            numbered = numbered.filter(numbered[each])
        return numbered.select([*self.operator.raw, *self.operator.parts, PLACE])

    def _accept(self, numbered: pa.Table) -> None:
        lasts = numbered.filter(numbered[IS_LAST]).select([*self.operator.parts, TOTAL])
        counts = lasts.rename_columns([*self.operator.parts, COUNT])
        needed = self._tuples_of(numbered, HOLDS, IS_NEEDED)
        self.counts = [*self.counts, in_memory(counts)]
        self.tuples = [*self.tuples, *([in_memory(needed)] if needed.num_rows else [])]

    def _forget(self) -> None:
        gone, self.tuples, self.counts = [*self.tuples, *self.counts], [], []
        for rows in gone:
            rows.delete()

    def _tidy(self, run: Run) -> None:
        """Forget what no window needs and spill what is large; what fails is tried again."""
        counts, tuples = run.view("counts"), run.view("tuples")
        if len(self.tuples) >= COMPACT_PARTS:
            sql = self.operator.needed_sql(tuples, counts)
            table = run.select(sql, {tuples: (self.tuples, None), counts: (self.counts, None)})
            gone, self.tuples = self.tuples, [in_memory(table)] if table.num_rows else []
            for rows in gone:
                rows.delete()
        if len(self.counts) >= COMPACT_PARTS:
            table = run.select(self.operator.counts_sql(counts), {counts: (self.counts, None)})
            gone, self.counts = self.counts, [in_memory(table)]
            for rows in gone:
                rows.delete()
        for rows in (*self.tuples, *self.counts):
            if not rows.is_small:
                rows.leave_memory(run.processor.spill)
