"""The state of sessions: the open ones, and their tuples where an aggregate needs them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.processor import Leaf
from penstock.engine.states.reads import table_of
from penstock.engine.states.state import KeptPart, KeptState, Run, RunOutput
from penstock.engine.trains.rows import COMPACT_PARTS, Rows, empty_table, in_memory
from penstock.engine.trains.sort_order import sorted_rows
from penstock.errors import PenstockError
from penstock.model.trains import BEGIN_OF_TIME, shifted
from penstock.plan.operators.windows.session_aggregate import (
    ARRIVAL,
    AT,
    FIRST,
    LAST,
    LATE,
    SessionAggregate,
)


@dataclass(frozen=True, slots=True)
class Tuples:
    """Tuples that are kept, and the last of their times."""

    rows: Rows
    last: int


@dataclass(slots=True)
class SessionState:
    """`sessions` are open; `arrived` tuples were numbered as they came."""

    operator: SessionAggregate
    sessions: Rows | None = None
    tuples: list[Tuples] = field(default_factory=list)
    arrived: int = 0

    def step(self, run: Run) -> RunOutput:
        """Merge the new tuples into the sessions, and close those that the watermark has passed."""
        new = self._kept_tuples(run)
        arrived = new.rows.count if new else 0
        merged = self._merged(run, new)
        if merged is None:
            return RunOutput(empty_table(run.unit.root.schema))
        late = None
        if pc.any(merged[LATE], min_count=0).as_py():
            late, new = self._late(run), self._in_time(run, new)
        merged = merged.filter(pc.invert(merged[LATE])).drop_columns([LATE])
        is_closed = pc.less_equal(merged[LAST], self._limit(run.marks))
        closed, still = merged.filter(is_closed), merged.filter(pc.invert(is_closed))
        table = self._rows_of(run, closed, new)
        self._accept(still, new, arrived)
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._tidy(run)
        return RunOutput(sorted_rows(table, [t.column for t in run.unit.root.times]), late)

    def promise(self, marks: Sequence[int]) -> int:
        """Return the watermark: what closes later ends behind it."""
        return shifted(marks[0], self.operator.time.offset)

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        parts = [KeptPart(part.rows, {"last": part.last}) for part in self.tuples]
        if self.sessions is not None:
            parts.append(KeptPart(self.sessions, {"last": None}))
        return KeptState({"arrived": self.arrived}, parts)

    @classmethod
    def back(cls, operator: SessionAggregate, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        sessions = [part.rows for part in kept.parts if part.facts["last"] is None]
        tuples = [
            Tuples(part.rows, part.facts["last"])
            for part in kept.parts
            if part.facts["last"] is not None
        ]
        return cls(operator, sessions[0] if sessions else None, tuples, kept.facts["arrived"])

    def _limit(self, marks: Sequence[int]) -> int:
        """Return the last time of a session that has closed at these watermarks.

        A tuple at the watermark itself may still come, and belongs to the session that ends there.
        """
        return shifted(self.promise(marks), -self.operator.gap - 1)

    def _kept_tuples(self, run: Run) -> Tuples | None:
        """Return the new tuples, numbered as they came, where sessions keep them."""
        if self.operator.raw is None or not run.count:
            return None
        sql = self.operator.tuples_sql(f"({run.input_sql()})")
        table = run.select(sql, run.leaves(), single=False)
        numbers = np.arange(self.arrived, self.arrived + table.num_rows, dtype=np.int64)
        place = table.column_names.index(ARRIVAL)
        table = table.set_column(place, ARRIVAL, pa.array(numbers))
        last = pc.max(table[AT]).as_py() if table.num_rows else BEGIN_OF_TIME
        return Tuples(in_memory(table), last)

    def _merged(self, run: Run, new: Tuples | None) -> pa.Table | None:
        """Return all sessions with the new tuples, those of late tuples marked, or None."""
        if not run.count:
            return None if self.sessions is None else _unmarked(table_of(self.sessions))
        tuples, leaves = f"({self.operator.tuples_sql(f'({run.input_sql()})')})", run.leaves()
        if new is not None:
            tuples, leaves = run.view("new"), {run.view("new"): ([new.rows], None)}
        known = None
        if self.sessions is not None:
            known = run.view("sessions")
            leaves[known] = ([self.sessions], None)
        limit = self._limit(run.before)
        is_late = "false" if limit == BEGIN_OF_TIME else f"{AT} <= {limit}L"
        sql = self.operator.merge_sql(self.operator.islands_sql(tuples, is_late), known)
        return run.select(sql, leaves)

    def _in_time(self, run: Run, new: Tuples | None) -> Tuples | None:
        if new is None:
            return None
        table = table_of(new.rows)
        in_time = table.filter(pc.greater(table[AT], self._limit(run.before)))
        return Tuples(in_memory(in_time), new.last)

    def _late(self, run: Run) -> pa.Table:
        sql = self.operator.late_sql(f"({run.input_sql()})", self._limit(run.before))
        return run.select(sql, run.leaves(), self.operator.input.schema, single=False)

    def _rows_of(self, run: Run, closed: pa.Table, new: Tuples | None) -> pa.Table:
        """Return the root's rows of the sessions that close."""
        root = run.unit.root
        if not closed.num_rows:
            return empty_table(root.schema)
        leaves: dict[str, Leaf] = {run.view("closed"): ([in_memory(closed)], None)}
        if self.operator.raw is None:
            sql = self.operator.close_sql(run.view("closed"))
        else:
            parts = [*self.tuples, *([new] if new else [])]
            leaves[run.view("tuples")] = ([part.rows for part in parts], None)
            sql = self.operator.close_raw_sql(run.view("closed"), run.view("tuples"))
        return run.select(run.unit.above_sql(f"({sql})"), leaves, root.schema)

    def _accept(self, still: pa.Table, new: Tuples | None, arrived: int) -> None:
        gone = [self.sessions] if self.sessions is not None else []
        self.sessions = in_memory(still) if still.num_rows else None
        self.arrived += arrived
        # A tuple of an open session is not before all of them.
        first = pc.min(still[FIRST]).as_py()
        parts = [*self.tuples, *([new] if new else [])]
        self.tuples = [part for part in parts if first is not None and part.last >= first]
        gone += [part.rows for part in parts if first is None or part.last < first]
        for rows in gone:
            rows.delete()

    def _tidy(self, run: Run) -> None:
        """Forget tuples of closed sessions and spill what is large; what fails is tried again."""
        if len(self.tuples) >= COMPACT_PARTS and self.sessions is not None:
            tuples, sessions = run.view("tuples"), run.view("sessions")
            sql = self.operator.needed_sql(tuples, sessions)
            rows = [part.rows for part in self.tuples]
            table = run.select(sql, {tuples: (rows, None), sessions: ([self.sessions], None)})
            last = max(part.last for part in self.tuples)
            self.tuples = [Tuples(in_memory(table), last)] if table.num_rows else []
            for each in rows:
                each.delete()
        held = [*(part.rows for part in self.tuples), *([self.sessions] if self.sessions else [])]
        for each in held:
            if not each.is_small:
                each.leave_memory(run.processor.spill)


def _unmarked(sessions: pa.Table) -> pa.Table:
    """Return sessions none of which is of late tuples."""
    return sessions.append_column(LATE, pa.array(np.zeros(sessions.num_rows, dtype=bool)))
