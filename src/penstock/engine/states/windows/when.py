"""The state of windows with a condition: each group's open window, and the tuples kept for it.

Tuples of windows that have closed stay until parts are compacted; `since` tells them apart.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.processor import Leaf
from penstock.engine.states.reads import table_of
from penstock.engine.states.state import KeptPart, KeptState, Run, RunOutput
from penstock.engine.trains.rows import COMPACT_PARTS, Rows, empty_table, in_memory, laid_together
from penstock.engine.trains.sort_order import sorted_rows
from penstock.errors import PenstockError
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators.windows.when_aggregate import (
    AT,
    BASE,
    CLOSED,
    COUNT,
    NEXT,
    SINCE,
    N,
    WhenAggregate,
)


@dataclass(slots=True)
class WhenState:
    """`groups` are the groups as they stand; `oldest` is the earliest end of an open window."""

    operator: WhenAggregate
    groups: Rows | None = None
    tuples: list[Rows] = field(default_factory=list)
    oldest: int | None = None

    def step(self, run: Run) -> RunOutput:
        """Fold the condition over the new tuples, and answer for the windows that they close."""
        new = self._new(run) if run.count else None
        groups = self._folded(run, new)
        if groups is None:
            return RunOutput(empty_table(run.unit.root.schema))
        at_end = run.marks[0] == END_OF_TIME
        table = self._rows_of(run, self._closings(groups, at_end=at_end), new)
        self._accept(groups, new, at_end=at_end)
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._tidy(run)
        return RunOutput(sorted_rows(table, [t.column for t in run.unit.root.times]))

    def promise(self, marks: Sequence[int]) -> int:
        """Return the watermark, held back by windows that may end with a tuple that was read."""
        time = self.operator.time
        if time is None or marks[0] in (BEGIN_OF_TIME, END_OF_TIME):
            return marks[0]
        mark = shifted(marks[0], time.offset)
        return mark if self.oldest is None else min(mark, self.oldest)

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        parts = [KeptPart(rows, {"is": "tuples"}) for rows in self.tuples]
        if self.groups is not None:
            parts.append(KeptPart(self.groups, {"is": "groups"}))
        return KeptState({"oldest": self.oldest}, parts)

    @classmethod
    def back(cls, operator: WhenAggregate, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        groups = [part.rows for part in kept.parts if part.facts["is"] == "groups"]
        tuples = [part.rows for part in kept.parts if part.facts["is"] == "tuples"]
        return cls(operator, groups[0] if groups else None, tuples, kept.facts["oldest"])

    def _new(self, run: Run) -> Rows:
        sql = self.operator.tuples_sql(f"({run.input_sql()})")
        return in_memory(run.select(sql, run.leaves(), single=False))

    def _folded(self, run: Run, new: Rows | None) -> pa.Table | None:
        """Return all groups after the new tuples, with those that closed windows, or None."""
        if new is None or not new.count:
            return None if self.groups is None else _unchanged(table_of(self.groups))
        view, state = run.view("new"), None
        leaves: dict[str, Leaf] = {view: ([new], None)}
        if self.groups is not None:
            state = run.view("groups")
            leaves[state] = ([self.groups], None)
        return run.select(self.operator.fold_sql(view, state), leaves)

    def _closings(self, groups: pa.Table, *, at_end: bool) -> pa.Table:
        """Return the number of each tuple that closes a window; at the end the last ones do."""
        closed = groups[CLOSED].combine_chunks()
        columns = [*self.operator.names, BASE]
        found = groups.select(columns).take(pc.list_parent_indices(closed))
        found = found.append_column(NEXT, pc.list_flatten(closed))
        if not at_end:
            return found
        still = groups.filter(pc.greater(groups[COUNT], 0))
        last = still.select(columns).append_column(NEXT, still[N])
        return laid_together([found, last])

    def _rows_of(self, run: Run, closings: pa.Table, new: Rows | None) -> pa.Table:
        """Return the root's rows of the windows that close."""
        root = run.unit.root
        if not closings.num_rows:
            return empty_table(root.schema)
        tuples, ends = run.view("tuples"), run.view("closings")
        rows = [*self.tuples, *([self._without_arguments(new)] if new else [])]
        leaves: dict[str, Leaf] = {tuples: (rows, None), ends: ([in_memory(closings)], None)}
        sql = self.operator.close_sql(tuples, ends)
        return run.select(run.unit.above_sql(f"({sql})"), leaves, root.schema)

    def _without_arguments(self, new: Rows) -> Rows:
        """Return the tuples without what only the condition looks at."""
        return in_memory(table_of(new).select([*self.operator.raw, *self.operator.names, AT, N]))

    def _accept(self, groups: pa.Table, new: Rows | None, *, at_end: bool) -> None:
        gone = [self.groups] if self.groups is not None else []
        if at_end:
            gone += self.tuples
            self.groups, self.tuples, self.oldest = None, [], None
        else:
            still = groups.filter(pc.greater(groups[COUNT], 0))
            self.oldest = pc.min(still[AT]).as_py() if self.operator.time else None
            self.groups = in_memory(groups.drop_columns([BASE, CLOSED]))
            if new is not None and new.count:
                self.tuples = [*self.tuples, self._without_arguments(new)]
        for rows in gone:
            rows.delete()

    def _tidy(self, run: Run) -> None:
        """Forget tuples of closed windows and spill what is large; what fails is tried again."""
        if len(self.tuples) >= COMPACT_PARTS and self.groups is not None:
            tuples, groups = run.view("tuples"), run.view("groups")
            sql = self.operator.needed_sql(tuples, groups)
            table = run.select(sql, {tuples: (self.tuples, None), groups: ([self.groups], None)})
            known = table_of(self.groups)
            gone = [*self.tuples, self.groups]
            self.tuples = [in_memory(table)] if table.num_rows else []
            # Where a group has no tuple that is out of date, a new group is the same.
            self.groups = in_memory(known.filter(pc.greater(known[COUNT], 0)))
            for rows in gone:
                rows.delete()
        for rows in (*self.tuples, *([self.groups] if self.groups else [])):
            if not rows.is_small:
                rows.leave_memory(run.processor.spill)


def _unchanged(groups: pa.Table) -> pa.Table:
    """Return the groups as a run without tuples leaves them."""
    nothing = pa.array([[]] * groups.num_rows, pa.list_(pa.int64()))
    return groups.append_column(BASE, groups[SINCE]).append_column(CLOSED, nothing)
