"""The state of a perspective over streams: the readings of the slices that are not complete yet.

    next_corner: of the first slice that is not complete; all before it have been given.

A reading is late where it missed a slice that was given, and still counts in those to come.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.states.above import root_rows
from penstock.engine.states.joins.kept_rows import KeptRows, timed_rows, undone
from penstock.engine.states.parts import Part
from penstock.engine.states.state import KeptState, Run, RunOutput
from penstock.engine.trains.rows import empty_table, fit, laid_together
from penstock.engine.trains.sort_order import sorted_rows
from penstock.engine.trains.types import arrow_schema
from penstock.grid.reader import needs_extra
from penstock.grid.slices import SurfaceSlices
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators.joins.time_slices import READING, TIME, TimeSlices


@dataclass(slots=True)
class TimeSlicesState:
    """Readings of each base; `begin` bounds the slices that it answers for."""

    operator: TimeSlices
    begin: int = BEGIN_OF_TIME
    next_corner: int | None = None
    readings: KeptRows = field(init=False)
    slices: SurfaceSlices = field(init=False)

    def __post_init__(self) -> None:
        """Keep nothing at first, and answer only for slices that lie at `begin` or after it."""
        schemas = (self.operator.state_schema for _ in self.operator.read)
        self.readings = KeptRows.of(schemas, TIME)
        of = self.operator
        self.slices = SurfaceSlices.of(of.bases, of.perspectives, of.window)
        if self.next_corner is None:
            self.next_corner = self.first_corner

    @property
    def first_corner(self) -> int | None:
        """Return the first slice that this state answers for, or None where all count."""
        return None if self.begin == BEGIN_OF_TIME else self.operator.first_from(self.begin)

    def step(self, run: Run) -> RunOutput:
        """Take readings in, and give the cells of the slices that are complete now."""
        mark = self.operator.watermark(run.marks)
        arrived = [self._arrived(run, place) for place in range(len(self.operator.read))]
        new = self.readings.parts_of(table for table, _ in arrived)
        reached = self._reached(mark, new)
        with undone(new):
            table = self._given(run, new, reached)
        needed = BEGIN_OF_TIME if reached is None else reached
        processor = run.processor
        self.readings.accept(new, [needed] * len(new), processor.spill, processor.room)
        self.next_corner = reached
        return RunOutput(table, self._late([each for _, each in arrived]))

    def promise(self, marks: Sequence[int]) -> int:
        """Return the first corner that a cell to come has at least."""
        if self.operator.watermark(marks) == END_OF_TIME:
            return END_OF_TIME
        if self.next_corner is None or self.operator.is_scattered:
            return BEGIN_OF_TIME
        return self.next_corner

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        facts = {"begin": self.begin, "next_corner": self.next_corner}
        return KeptState(facts, self.readings.kept())

    @classmethod
    def back(cls, operator: TimeSlices, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        state = cls(operator, kept.facts["begin"], kept.facts["next_corner"])
        state.readings.back(kept.parts)
        return state

    def _arrived(self, run: Run, place: int) -> tuple[pa.Table, pa.Table | None]:
        """Return the readings that a slice to come needs, and those that missed one."""
        schema = arrow_schema(self.operator.state_schema)
        table = fit(timed_rows(run, place, self.operator.read[place], TIME), schema)
        table = table.filter(pc.is_valid(table[TIME]))
        if self.next_corner is None or not table.num_rows:
            return table, None
        late = None
        if self.next_corner != self.first_corner:
            missed = pc.less(table[TIME], self.operator.end_before(self.next_corner))
            if self.first_corner is not None:
                missed = pc.and_(missed, pc.greater_equal(table[TIME], self.first_corner))
            late = table.filter(missed)
        return table.filter(pc.greater_equal(table[TIME], self.next_corner)), late

    def _reached(self, mark: int, new: Sequence[Part | None]) -> int | None:
        """Return the corner of the first slice that stays incomplete."""
        if mark == BEGIN_OF_TIME:
            return self.next_corner
        if mark == END_OF_TIME:
            found = [self.operator.after(part.last) for part in self._parts(new)]
        else:
            found = [self.operator.open_at(mark)]
        known = [] if self.next_corner is None else [self.next_corner]
        return max([*found, *known], default=None)

    def _parts(self, new: Sequence[Part | None]) -> list[Part]:
        return [*self.readings.parts, *(part for part in new if part is not None)]

    def _given(self, run: Run, new: Sequence[Part | None], reached: int | None) -> pa.Table:
        """Return the rows of the slices before `reached` that have not been given."""
        root = run.unit.root
        firsts = [part.first for part in self._parts(new)]
        if reached is None or reached == self.next_corner or not firsts:
            return empty_table(root.schema)
        first = self.next_corner
        if first is None:
            first = self.operator.open_at(min(firsts))
        readings = [self._read(place, part, reached) for place, part in enumerate(new)]
        with needs_extra():
            cells = self.slices.cells(readings, first, reached)
        rows = root_rows(run, cells)
        return sorted_rows(rows, [time.column for time in root.times])

    def _read(self, place: int, new: Part | None, reached: int) -> pa.Table:
        """Return the readings of a base that slices before `reached` need."""
        side = self.readings.sides[place]
        end = self.operator.end_before(reached)
        parts = [part for part in (*side.parts, new) if part is not None and part.first < end]
        tables = [part.rows.to_table(side.schema) for part in parts]
        table = laid_together([empty_table(side.schema), *tables])
        return table.filter(pc.less(table[TIME], end)).select(list(READING))

    def _late(self, late: Sequence[pa.Table | None]) -> pa.Table | None:
        """Return the late readings of all bases."""
        wanted = arrow_schema(self.operator.late_schema)
        found = [
            pa.table([pa.array([name] * each.num_rows, pa.string()), *each.columns[:-1]], wanted)
            for each, (name, _) in zip(late, self.operator.bases, strict=True)
            if each is not None and each.num_rows
        ]
        return laid_together(found) if found else None
