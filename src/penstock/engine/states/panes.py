"""The state of a window aggregate: partials, append-only, and how far windows have closed.

    next_start: the first window that has not closed; every earlier one has been answered.

A tuple is late where it missed a window that has closed. It still counts in those of its
windows that are open.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.processor import Processor
from penstock.engine.rows import Rows, empty_table, in_memory, is_small, laid_together
from penstock.engine.states.sorting import sorted_rows
from penstock.engine.states.state import Kept, KeptPart, Run, Step
from penstock.errors import PenstockError
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators.window_aggregate import PANE, WindowAggregate
from penstock.plan.units import Unit

COMPACT_PARTS = 16  # a scan of sixteen files costs twice a scan of one (docs/decisions/0002)


@dataclass(frozen=True, slots=True)
class Part:
    """Some partials, and the panes they span."""

    rows: Rows
    first_pane: int
    last_pane: int
    level: int = 0


@dataclass(slots=True)
class PaneState:
    """Partials of one aggregate. `begin` bounds the windows that it answers for."""

    aggregate: WindowAggregate
    begin: int = BEGIN_OF_TIME
    next_start: int | None = None
    parts: list[Part] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Answer only for windows that start at or after `begin`."""
        if self.next_start is None:
            self.next_start = self.first_start

    @property
    def first_start(self) -> int | None:
        """Return the first window that this state answers for, or None where all count."""
        slide = self.aggregate.slide
        return None if self.begin == BEGIN_OF_TIME else -(-self.begin // slide) * slide

    @property
    def closed_end(self) -> int | None:
        """Return the end of the last window that closed, or None before any."""
        if self.next_start is None or self.next_start == self.first_start:
            return None
        return self.next_start - self.aggregate.slide + self.aggregate.size

    @property
    def late_span(self) -> tuple[int, int] | None:
        """Return the times from and before which a tuple is late now, or None before any close.

        A tuple before the first window that is answered for missed nothing.
        """
        end = self.closed_end
        if end is None:
            return None
        return (BEGIN_OF_TIME if self.first_start is None else self.first_start), end

    def is_late(self, partials: pa.Table) -> bool:
        """Say whether some of these partials missed a window that has closed."""
        if (span := self.late_span) is None:
            return False
        panes = partials[PANE]
        late = pc.and_(pc.greater_equal(panes, span[0]), pc.less(panes, span[1]))
        return bool(pc.any(late, min_count=0).as_py())

    def absorbed(self, partials: pa.Table | None) -> Part | None:
        """Return the partials that an open window needs, not yet kept."""
        if partials is not None and self.next_start is not None:
            partials = partials.filter(pc.greater_equal(partials[PANE], self.next_start))
        if partials is None or not partials.num_rows:
            return None
        return Part(in_memory(partials), *_span(partials))

    def closing(self, watermark: int, new: Part | None) -> tuple[int, int] | None:
        """Return the first and the last window start to close, with `new` counted in, or None.

        Windows without any tuple are passed over: they have no row.
        """
        parts = [*self.parts, *([new] if new else [])]
        if not parts or watermark == BEGIN_OF_TIME:
            return None
        slide, size = self.aggregate.slide, self.aggregate.size
        first_pane = min(part.first_pane for part in parts)
        first = -(-(first_pane - size + self.aggregate.pane) // slide) * slide
        if self.next_start is not None:
            first = max(first, self.next_start)
        last = max(part.last_pane for part in parts) // slide * slide
        if watermark != END_OF_TIME:
            last = min(last, (watermark - size) // slide * slide)
        return (first, last) if first <= last else None

    def parts_of(self, starts: tuple[int, int], new: Part | None) -> list[Rows]:
        """Return the parts with partials of windows that start in the range."""
        low, high = starts[0], starts[1] + self.aggregate.size
        parts = [*self.parts, *([new] if new else [])]
        return [p.rows for p in parts if p.first_pane < high and p.last_pane >= low]

    def accept(self, new: Part | None, watermark: int) -> None:
        """Keep the new partials, and let go of windows that the watermark has closed."""
        if new is not None:
            self.parts.append(new)
        reached = self._reached(watermark)
        if reached is None or (self.next_start is not None and reached <= self.next_start):
            return
        self.next_start = reached
        gone = [part for part in self.parts if part.last_pane < reached]
        self.parts = [_from(part, reached) for part in self.parts if part.last_pane >= reached]
        for part in gone:
            part.rows.delete()

    def _reached(self, watermark: int) -> int | None:
        """Return the first window start that stays open, or None where nothing is known."""
        slide, size = self.aggregate.slide, self.aggregate.size
        if watermark == END_OF_TIME:
            return max((p.last_pane // slide * slide + slide for p in self.parts), default=None)
        if watermark == BEGIN_OF_TIME:
            return None
        return (watermark - size) // slide * slide + slide

    def watermark_out(self, watermark: int) -> int:
        """Return the promise of the result: no window that starts earlier will come."""
        if watermark == END_OF_TIME:
            return END_OF_TIME
        return BEGIN_OF_TIME if self.next_start is None else self.next_start

    def promise(self, marks: Sequence[int]) -> int:
        """Return the watermark of the output when the input has this one."""
        return self.watermark_out(self._mark(marks))

    def kept(self) -> Kept:
        """Return the state for a checkpoint."""
        parts = [
            KeptPart(p.rows, {"first": p.first_pane, "last": p.last_pane, "level": p.level})
            for p in self.parts
        ]
        return Kept({"begin": self.begin, "next_start": self.next_start}, parts)

    @classmethod
    def back(cls, aggregate: WindowAggregate, kept: Kept) -> Self:
        """Return the state that a checkpoint kept."""
        parts = [
            Part(p.rows, p.facts["first"], p.facts["last"], p.facts["level"]) for p in kept.parts
        ]
        return cls(aggregate, kept.facts["begin"], kept.facts["next_start"], parts)

    def step(self, run: Run) -> Step:
        """Turn tuples into partials, and close the windows that the watermark has passed."""
        processor, unit, watermark = run.processor, run.unit, self._mark(run.marks)
        partials = run.ahead if run.ahead is not None else processor.panes(unit, run.rows)
        late = None
        if partials is not None and self.is_late(partials):
            since, before = self.late_span or (BEGIN_OF_TIME, BEGIN_OF_TIME)
            late = processor.late(unit, run.rows, before, since)
        absorbed = self.absorbed(partials)
        starts = self.closing(watermark, absorbed)
        table = None
        if starts is not None:
            table = processor.close(unit, self.parts_of(starts, absorbed), starts)
            table = sorted_rows(table, [t.column for t in unit.root.times])
        self.accept(absorbed, watermark)
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._tidy(processor, unit)
        return Step(table if table is not None else empty_table(unit.root.schema), late)

    def _mark(self, marks: Sequence[int]) -> int:
        return shifted(marks[0], self.aggregate.time.offset)

    def _tidy(self, processor: Processor, unit: Unit) -> None:
        """Combine parts and spill large ones; what fails is tried again after the next run."""
        while parts := self.to_compact():
            self.replace(parts, _combined(processor, unit, parts))
        for part in self.parts:
            if not part.rows.is_small:
                part.rows.leave_memory(processor.spill)

    def to_compact(self) -> list[Part]:
        """Return the parts of one level once there are many, newest levels first.

        Levels keep the work low: a partial is combined again only once per level.
        """
        for level in range(max((part.level for part in self.parts), default=0) + 1):
            parts = [part for part in self.parts if part.level == level]
            if len(parts) >= COMPACT_PARTS:
                return parts
        return []

    def replace(self, parts: Sequence[Part], partials: pa.Table) -> None:
        """Put combined partials in the place of the parts that they were made of."""
        gone = {id(part) for part in parts}
        self.parts = [part for part in self.parts if id(part) not in gone]
        first, last = _span(partials)
        self.parts.append(Part(in_memory(partials), first, last, parts[0].level + 1))
        for part in parts:
            part.rows.delete()


def _combined(processor: Processor, unit: Unit, parts: Sequence[Part]) -> pa.Table:
    """Return the partials of several parts as one table."""
    tables = [part.rows.table for part in parts]
    if all(table is not None for table in tables):
        whole = laid_together(tables)
        if is_small(whole):  # not worth a job: laying them together makes one leaf as well
            return whole
    return processor.compact(unit, [part.rows for part in parts])


def _from(part: Part, pane: int) -> Part:
    """Return the part without the panes before `pane`, where that needs no reading."""
    table = part.rows.table
    if part.first_pane >= pane or table is None or part.rows.paths:
        return part
    kept = table.filter(pc.greater_equal(table[PANE], pane))
    return Part(in_memory(kept), *_span(kept), part.level)


def _span(partials: pa.Table) -> tuple[int, int]:
    span = pc.min_max(partials[PANE]).as_py()
    return span["min"], span["max"]
