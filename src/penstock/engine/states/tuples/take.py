"""The state of a Take: how many tuples it has let through, and whether it is over."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.engine.states.state import KeptState, Run, RunOutput
from penstock.engine.trains.rows import empty_table
from penstock.model.trains import END_OF_TIME
from penstock.plan.operators import Take


@dataclass(slots=True)
class TakeState:
    """`taken` tuples so far; nothing more comes once it is `over`."""

    take: Take
    taken: int = 0
    over: bool = False
    is_light = True  # no run needs Spark

    def step(self, run: Run) -> RunOutput:
        """Pass the first tuples."""
        nothing = empty_table(self.take.schema)
        found = [each.to_table(self.take.schema) for rows in run.rows.values() for each in rows]
        # The clock is not asked: a run over no trains is the end, also when it is done again.
        self.over = self.over or not found
        table = nothing if self.over else pa.concat_tables([nothing, *found])
        if self.take.tuples is not None:
            table = table.slice(0, max(0, self.take.tuples - self.taken))
            self.over = self.over or self.taken + table.num_rows >= self.take.tuples
        self.taken += table.num_rows
        return RunOutput(table)

    def promise(self, marks: Sequence[int]) -> int:
        """Return the watermark of the input, until it is over."""
        return END_OF_TIME if self.over else marks[0]

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        return KeptState({"taken": self.taken, "over": self.over})
