"""The state of modifiers: the last tuple of each partition, and how far tuples were numbered.

The carry is appended to. An older tuple of a partition does no harm where a newer one is known:
rows are made only of tuples that are numbered behind the runs before.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.processor import Leaf
from penstock.engine.states.above import root_rows
from penstock.engine.states.state import KeptPart, KeptState, Run, RunOutput
from penstock.engine.trains.rows import COMPACT_PARTS, Rows, empty_table, in_memory
from penstock.errors import PenstockError
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators.tuples.modify import AT, CARRY, HAS_OLD, Modify
from penstock.plan.operators.tuples.ordered import NUMBER


@dataclass(slots=True)
class ModifyState:
    """`since` is the number of the last tuple that was read, `last` its time."""

    operator: Modify
    since: int = 0
    last: int | None = None
    parts: list[Rows] = field(default_factory=list)

    def step(self, run: Run) -> RunOutput:
        """Pair the new tuples with those before them."""
        if not run.count:
            return RunOutput(empty_table(run.unit.root.schema))
        found = run.select(self._sql(run), self._leaves(run))
        found = found.sort_by(AT)
        rows = found.filter(found[HAS_OLD]).select([name for name, _ in self.operator.columns])
        carry = _flat(found.filter(pc.is_valid(found[CARRY]))[CARRY])
        table = root_rows(run, rows)
        if found.num_rows:
            self.since = found[AT][-1].as_py()
            self.last = self._latest(carry)
            self.parts = [*self.parts, in_memory(carry)]
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._tidy(run)
        return RunOutput(table)

    def promise(self, marks: Sequence[int]) -> int:
        """Return the input's watermark, or the time of the last tuple where old ones are shown."""
        time = self.operator.time
        if not self.operator.shows_old or time is None or self.last is None:
            return marks[0]
        if marks[0] == END_OF_TIME:
            return END_OF_TIME
        return min(marks[0], shifted(self.last, -time.offset))

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        return KeptState(
            {"since": self.since, "last": self.last}, [KeptPart(p) for p in self.parts]
        )

    @classmethod
    def back(cls, operator: Modify, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        facts = kept.facts
        return cls(operator, facts["since"], facts["last"], [part.rows for part in kept.parts])

    def _sql(self, run: Run) -> str:
        new = self.operator.tuples_sql(f"({run.input_sql()})")
        both = f"SELECT * FROM {run.view('carry')} UNION ALL {new}" if self.parts else new
        return self.operator.step_sql(f"({both})", self.since)

    def _leaves(self, run: Run) -> dict[str, Leaf]:
        leaves = run.leaves()
        if self.parts:
            leaves[run.view("carry")] = (self.parts, None)
        return leaves

    def _latest(self, carry: pa.Table) -> int | None:
        time = self.operator.time
        if time is None or time.column not in carry.column_names:
            return None
        place = pc.index(carry[NUMBER], self.since).as_py()
        latest: int = carry[time.column][place].cast(pa.int64()).as_py()
        return max(latest, BEGIN_OF_TIME if self.last is None else self.last)

    def _tidy(self, run: Run) -> None:
        """Forget older tuples and spill what is large; what fails is tried again later."""
        if len(self.parts) >= COMPACT_PARTS:
            view = run.view("carry")
            sql = self.operator.compact_sql(view)
            parts, self.parts = self.parts, [in_memory(run.select(sql, {view: (self.parts, None)}))]
            for rows in parts:
                rows.delete()
        for rows in self.parts:
            if not rows.is_small:
                rows.leave_memory(run.processor.spill)


def _flat(structs: pa.ChunkedArray) -> pa.Table:
    """Return the fields of a column of structs as columns."""
    return pa.Table.from_struct_array(structs)
