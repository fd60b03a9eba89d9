"""A unit that runs: its place in its inputs, its state, its figures."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from penstock.engine.buffers import Train
from penstock.engine.processor import Processor
from penstock.engine.rows import Rows, empty_table, is_small, laid_together, write_parquet_at
from penstock.engine.window_state import Part, WindowState
from penstock.errors import PenstockError
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators import Take
from penstock.plan.units import Unit
from penstock.runtime.journal import Ranges, RecordedRun

Inputs = Mapping[str, Sequence[Train]]


@dataclass(frozen=True, slots=True)
class Output:
    """What a run gave: rows, the promise after them, and how many tuples came too late."""

    table: pa.Table
    watermark: int
    late: int = 0


@dataclass(slots=True)
class LiveUnit:
    """One unit; `marks` are the watermarks of its inputs as far as it has read them."""

    unit: Unit
    late_directory: Path
    state: WindowState | None = None
    runs: int = 0
    taken: int = 0
    time_is_up: bool = False
    ended: bool = False
    marks: dict[str, int] = field(default_factory=dict)
    replay: deque[RecordedRun] = field(default_factory=deque)
    rows_in: int = 0
    rows_out: int = 0
    late_rows: int = 0
    busy_seconds: float = 0.0
    cause: str = ""

    @property
    def reader(self) -> str:
        """Return the unit's name among a buffer's readers."""
        return f"unit:{self.unit.key}"

    @property
    def promise(self) -> int:
        """Return the watermark of the output, as far as the inputs have been read."""
        mark = self.unit.watermark(self.marks)
        return mark if self.state is None else self.state.watermark_out(mark)

    @property
    def must_end(self) -> bool:
        """Say whether the unit has to tell its readers that its time is up."""
        return self.time_is_up and not self.ended

    def execute(self, processor: Processor, number: int, inputs: Inputs) -> Output:
        """Run over the trains; nothing of the state has changed if this raises."""
        began = time.perf_counter()
        marks = {name: self.marks.get(name, BEGIN_OF_TIME) for name in self.unit.inputs}
        marks |= {name: trains[-1].info.watermark for name, trains in inputs.items() if trains}
        rows = {name: [t.rows for t in inputs.get(name, ())] for name in self.unit.inputs}
        if isinstance(self.unit.root, Take):
            output = self._take(rows, marks)
        elif self.state is None:
            table = processor.flow(self.unit, rows)
            output = Output(table, self.unit.watermark(marks))
        else:
            output = self._aggregate(processor, number, rows, self.unit.watermark(marks))
        self.marks = marks
        self.ended = output.watermark == END_OF_TIME
        self.rows_in += sum(each.count for parts in rows.values() for each in parts)
        self.rows_out += output.table.num_rows
        self.late_rows += output.late
        self.busy_seconds += time.perf_counter() - began
        return output

    def put_back(self, number: int, inputs: Ranges) -> None:
        """Do a run again later that failed; it stays recorded."""
        self.replay.appendleft(RecordedRun(self.reader, number, inputs))

    def _take(self, rows: Mapping[str, Sequence[Rows]], marks: Mapping[str, int]) -> Output:
        take = self.unit.root
        assert isinstance(take, Take)  # noqa: S101  (the caller looked)
        nothing = empty_table(take.schema)
        taken = [each.to_table(take.schema) for parts in rows.values() for each in parts]
        # The clock is not asked: a run over no trains is the end, also when it is done again.
        over = self.ended or not taken
        table = pa.concat_tables([nothing, *taken])
        if over:
            table = table.slice(0, 0)
        if take.tuples is not None:
            table = table.slice(0, max(0, take.tuples - self.taken))
        self.taken += table.num_rows
        full = take.tuples is not None and self.taken >= take.tuples
        mark = END_OF_TIME if full or over else min(marks.values())
        return Output(table, mark)

    def _aggregate(
        self,
        processor: Processor,
        number: int,
        rows: Mapping[str, Sequence[Rows]],
        watermark: int,
    ) -> Output:
        state = self.state
        assert state is not None  # noqa: S101  (the caller looked)
        partials = processor.panes(self.unit, rows)
        late = 0
        if partials is not None and state.is_late(partials):
            late = self._keep_late(processor, number, rows)
        absorbed = state.absorbed(partials)
        starts = state.closing(watermark, absorbed)
        table = None
        if starts is not None:
            table = processor.close(self.unit, state.parts_of(starts, absorbed), starts)
            table = sorted_rows(table, [t.column for t in self.unit.root.times])
        state.accept(absorbed, watermark)
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._tidy(processor, state)
        if table is None:
            table = empty_table(self.unit.root.schema)
        return Output(table, state.watermark_out(watermark), late)

    def _keep_late(
        self, processor: Processor, number: int, rows: Mapping[str, Sequence[Rows]]
    ) -> int:
        span = self.state.late_span if self.state is not None else None
        assert span is not None  # noqa: S101  (the caller saw a late partial)
        table = processor.late(self.unit, rows, span[1], span[0])
        if table.num_rows:
            # Named by unit and run, so that a replay writes the same file again, and so that
            # another unit that takes the aggregate over writes beside it.
            name = f"{self.unit.key}-{number:010d}.parquet"
            write_parquet_at(table, self.late_directory / name)
        return int(table.num_rows)

    def _tidy(self, processor: Processor, state: WindowState) -> None:
        """Combine parts and spill large ones; what fails is tried again after the next run."""
        while parts := state.to_compact():
            state.replace(parts, _combined(processor, self.unit, parts))
        for part in state.parts:
            if not part.rows.is_small:
                part.rows.leave_memory(processor.spill)


def _combined(processor: Processor, unit: Unit, parts: Sequence[Part]) -> pa.Table:
    """Return the partials of several parts as one table."""
    tables = [part.rows.table for part in parts]
    if all(table is not None for table in tables):
        whole = laid_together(tables)
        if is_small(whole):  # not worth a job: laying them together makes one leaf as well
            return whole
    return processor.compact(unit, [part.rows for part in parts])


def sorted_rows(table: pa.Table, first: Sequence[str]) -> pa.Table:
    """Return the rows by their times, then by everything else that has an order.

    Spark's aggregation leaves them in the order of its hash table; a replay must not differ.
    """
    plain = [f.name for f in table.schema if not pa.types.is_nested(f.type)]
    names = [*first, *(name for name in plain if name not in first)]
    if table.num_rows <= 1 or not names:
        return table
    return table.sort_by([(name, "ascending") for name in names])
