"""The state of a window aggregate: partials, append-only, and how far windows have closed.

A tuple is late where it missed a window that has closed for good. It still counts in those of
its windows that are open.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.processor import Processor
from penstock.engine.states.sharing.parts import (
    Part,
    from_pane,
    part_of,
    spread_of,
    to_combine,
    within,
)
from penstock.engine.states.sorting import sorted_rows
from penstock.engine.states.state import Kept, KeptPart, Run, Step
from penstock.engine.trains.rows import Rows, empty_table, in_memory, is_small, laid_together
from penstock.errors import PenstockError
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators.windows.hops import Hops
from penstock.plan.operators.windows.window_aggregate import ARRIVAL, PANE, Numbers, WindowAggregate
from penstock.plan.select.punctuation import over_groups
from penstock.plan.sharing.units import Unit


@dataclass(frozen=True, slots=True)
class Ended:
    """Groups of which no more tuples come: as the state has them, and as the input has.

    Remembered until the last window that was open then has closed.
    """

    held: str
    given: str
    until: int


@dataclass(slots=True)
class PaneState:
    """Partials of one aggregate. `begin` bounds the windows that it answers for.

    `next_number` is the first window that has not closed, `kept_number` the first that is still
    kept: they differ while closed windows may be corrected. `high` is the latest tuple's place,
    also of those that WHERE does not let through.
    """

    aggregate: WindowAggregate
    begin: int = BEGIN_OF_TIME
    next_number: int | None = None
    kept_number: int | None = None
    parts: list[Part] = field(default_factory=list)
    early: int | None = None
    arrived: int = 0
    ended: list[Ended] = field(default_factory=list)
    high: int | None = None

    def __post_init__(self) -> None:
        """Answer only for windows that start at or after `begin`."""
        if self.next_number is None:
            self.next_number = self.kept_number = self.first_number

    @property
    def hops(self) -> Hops:
        """Return the windows."""
        return self.aggregate.hops

    @property
    def first_number(self) -> int | None:
        """Return the first window that this state answers for, or None where all count."""
        return None if self.begin == BEGIN_OF_TIME else self.hops.first_from(self.begin)

    @property
    def late_span(self) -> tuple[int, int] | None:
        """Return the places from and before which a tuple is late now, or None before any close.

        A tuple before the first window that is answered for missed nothing.
        """
        if self.kept_number is None or self.kept_number == self.first_number:
            return None
        if self.hops.upper <= 0:  # all have closed together
            return self._earliest, self.hops.end
        first = self.first_number
        if first is None and not self.hops.endless:
            first = 0
        since = BEGIN_OF_TIME if first is None else self.hops.start_of(first)
        return since, self.hops.end_of(self.kept_number - 1)

    @property
    def _earliest(self) -> int:
        """Return the earliest place that windows with an end in common hold."""
        if self.hops.lower >= 0:
            return self.hops.begin
        return BEGIN_OF_TIME if self.hops.last is None else self.hops.start_of(self.hops.last)

    def is_late(self, partials: pa.Table) -> bool:
        """Say whether some of these partials missed a window that has closed for good."""
        if (span := self.late_span) is None:
            return False
        panes = partials[PANE]
        late = pc.and_(pc.greater_equal(panes, span[0]), pc.less(panes, span[1]))
        return bool(pc.any(late, min_count=0).as_py())

    def absorbed(self, partials: pa.Table | None) -> Part | None:
        """Return the partials that a window needs that is still kept, not yet taken in."""
        if partials is not None and self.kept_number is not None and self.hops.lower > 0:
            kept_from = self.hops.start_of(self.kept_number)
            partials = partials.filter(pc.greater_equal(partials[PANE], kept_from))
        if partials is None or not partials.num_rows:
            return None
        return part_of(partials)

    def closing(self, watermark: int, new: Part | None) -> Numbers | None:
        """Return the first and the last window to close, with `new` counted in, or None.

        Windows without any tuple are passed over: they have no row.
        """
        spread = self._spread(new)
        if spread is None or watermark == BEGIN_OF_TIME:
            return None
        first = self.hops.first_holding(*spread)
        if self.next_number is not None:
            first = max(first, self.next_number)
        last = self._last_closing(watermark, spread)
        return None if last is None or first > last else (first, last)

    def parts_of(self, numbers: Numbers, new: Part | None) -> list[Rows]:
        """Return the parts with partials of these windows."""
        low = min(map(self.hops.start_of, numbers))
        high = max(map(self.hops.end_of, numbers))
        return within([*self.parts, *([new] if new else [])], low, high)

    def accept(self, new: Part | None, watermark: int) -> None:
        """Take the new partials in, and let go of windows that the watermark has closed."""
        if new is not None:
            self.parts.append(new)
        self.next_number = self._moved(self.next_number, watermark)
        kept = shifted(watermark, -self.aggregate.lateness)
        self.kept_number = self._moved(self.kept_number, kept)
        self._let_go()

    def watermark_out(self, watermark: int) -> int:
        """Return the promise of the result: no row with an earlier time will come."""
        number = self.kept_number
        if watermark == END_OF_TIME or (number is not None and self.hops.is_over(number)):
            return END_OF_TIME
        if number is None or not self.aggregate.times:
            return BEGIN_OF_TIME
        return self.hops.start_of(number) if self.hops.is_steady else self.hops.end_of(number)

    def promise(self, marks: Sequence[int]) -> int:
        """Return the watermark of the output when the input has this one."""
        return self.watermark_out(self._mark(marks))

    def kept(self) -> Kept:
        """Return the state for a checkpoint."""
        parts = [
            KeptPart(p.rows, {"first": p.first_pane, "last": p.last_pane, "level": p.level})
            for p in self.parts
        ]
        facts = {
            "begin": self.begin,
            "next": self.next_number,
            "kept": self.kept_number,
            "early": self.early,
            "arrived": self.arrived,
            "ended": [[each.held, each.given, each.until] for each in self.ended],
            "high": self.high,
        }
        return Kept(facts, parts)

    @classmethod
    def back(cls, aggregate: WindowAggregate, kept: Kept) -> Self:
        """Return the state that a checkpoint kept."""
        parts = [
            Part(p.rows, p.facts["first"], p.facts["last"], p.facts["level"]) for p in kept.parts
        ]
        facts = kept.facts
        numbers = facts["next"], facts["kept"]
        state = cls(aggregate, facts["begin"], *numbers, parts, facts["early"], facts["arrived"])
        state.ended = [Ended(*each) for each in facts.get("ended", ())]
        state.high = facts.get("high")
        return state

    def step(self, run: Run) -> Step:
        """Turn tuples into partials, and close the windows that the watermark has passed."""
        processor, unit, watermark = run.processor, run.unit, self._mark(run.marks)
        self._rise(run)  # a run that is done again finds it there already
        partials = run.ahead if run.ahead is not None else processor.panes(unit, run.rows)
        late = None
        if partials is not None and self.is_late(partials):
            since, before = self.late_span or (BEGIN_OF_TIME, BEGIN_OF_TIME)
            late = processor.late(unit, run.rows, before, since)
        if partials is not None and self.ended:
            partials, late = self._without_strays(run, partials, late)
        absorbed = self.absorbed(self._with_arrival(partials))
        tables = list(self._emitted(run, absorbed, watermark))
        if not unit.is_ordered:
            tables = [sorted_rows(each, [t.column for t in unit.root.times]) for each in tables]
        self.accept(absorbed, watermark)
        self.arrived += 0 if partials is None else partials.num_rows
        self.ended = [each for each in self.ended if not self._has_closed(each.until)]
        if self.aggregate.early is not None and abs(watermark) < END_OF_TIME:
            self.early = watermark // self.aggregate.early
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._tidy(processor, unit)
        nothing = empty_table(unit.root.schema)
        return Step(pa.concat_tables(tables) if tables else nothing, late)

    def punctuate(self, run: Run, conditions: Mapping[int, str]) -> Step:
        """Close the open windows of groups of which no more tuples come, and release them.

        Punctuations are rare: each goes through all partials once.
        """
        nothing = Step(empty_table(run.unit.root.schema))
        held, spread = over_groups(run.unit, conditions[0]), self._spread(None)
        last = None if spread is None else self.hops.last_holding(*spread)
        if not held or spread is None or last is None:
            return nothing
        first = self.hops.first_holding(*spread)
        first = first if self.next_number is None else max(first, self.next_number)
        table, rest = nothing.table, None
        theirs = self._where(run, held, [part.rows for part in self.parts])
        if theirs.num_rows:
            rest = self._where(run, f"NOT coalesce({held}, false)", [p.rows for p in self.parts])
            if first <= last:
                table = run.processor.close(run.unit, [in_memory(theirs)], (first, last))
                table = sorted_rows(table, [time.column for time in run.unit.root.times])
        if rest is not None:
            self._keep_only(rest)
        self.ended.append(Ended(held, conditions[0], last))
        return Step(table)

    def _has_closed(self, number: int) -> bool:
        return self.next_number is not None and number < self.next_number

    def _where(self, run: Run, condition: str, parts: Sequence[Rows]) -> pa.Table:
        view = run.view("groups")
        return run.select(f"SELECT * FROM {view} WHERE {condition}", {view: (parts, None)})

    def _keep_only(self, partials: pa.Table) -> None:
        gone, level = self.parts, max(part.level for part in self.parts)
        self.parts = [part_of(partials, level)] if partials.num_rows else []
        for part in gone:
            part.rows.delete()

    def _without_strays(
        self, run: Run, partials: pa.Table, late: pa.Table | None
    ) -> tuple[pa.Table, pa.Table | None]:
        """Return the partials without groups that had ended, whose tuples are late."""
        held = " OR ".join(f"coalesce({each.held}, false)" for each in self.ended)
        kept = self._where(run, f"NOT ({held})", [in_memory(partials)])
        if kept.num_rows == partials.num_rows:
            return partials, late
        given = " OR ".join(f"coalesce({each.given}, false)" for each in self.ended)
        at, (since, before) = self.aggregate.micros(), self.late_span or (0, 0)
        since = max(since, BEGIN_OF_TIME + 1)  # a literal that Spark can read
        counted = f"({at} >= {since}L AND {at} < {before}L)"  # those are late already
        sql = f"SELECT * FROM ({run.input_sql()}) WHERE ({given}) AND NOT {counted}"
        strays = run.select(sql, run.leaves(), self.aggregate.input.schema, single=False)
        return kept, strays if late is None else pa.concat_tables([late, strays])

    def _emitted(self, run: Run, new: Part | None, watermark: int) -> Iterator[pa.Table]:
        """Yield the rows of the windows that close, are corrected, or are shown early."""
        if (closing := self.closing(watermark, new)) is not None:
            yield self._close(run, closing, new, "final")
        if new is not None and (corrected := self._corrected(new)) is not None:
            yield self._close(run, corrected, new, "corrected")
        if (open_ := self._open(watermark, new, closing)) is not None:
            yield self._close(run, open_, new, "early")

    def _close(self, run: Run, numbers: Numbers, new: Part | None, emitted: str) -> pa.Table:
        parts = self.parts_of(numbers, new)
        touched = [new.rows] if new is not None and emitted == "corrected" else None
        return run.processor.close(run.unit, parts, numbers, emitted=emitted, touched=touched)

    def _corrected(self, new: Part) -> Numbers | None:
        """Return the windows that have closed, are still kept, and may hold new tuples."""
        if not self.aggregate.lateness or self.next_number is None:
            return None
        first = self.hops.first_holding(new.first_pane, new.last_pane)
        if self.kept_number is not None:  # else all of them are kept so far
            first = max(first, self.kept_number)
        last = self.hops.last_holding(new.first_pane, new.last_pane)
        if last is None:
            return None
        # All windows of a landmark hold what its first one does.
        last = self.next_number - 1 if self._grows else min(last, self.next_number - 1)
        return None if first > last else (first, last)

    def _open(self, watermark: int, new: Part | None, closing: Numbers | None) -> Numbers | None:
        """Return the open windows, where it is time to show them early."""
        every, spread = self.aggregate.early, self._spread(new)
        if every is None or spread is None or abs(watermark) >= END_OF_TIME:
            return None
        if self.early is not None and watermark // every <= self.early:
            return None
        first = self.hops.first_holding(*spread)
        passed = closing[1] + 1 if closing is not None else self._moved(self.next_number, watermark)
        first = first if passed is None else max(first, passed)
        last = self.hops.last_holding(*spread)
        return None if last is None or first > last else (first, last)

    def _spread(self, new: Part | None) -> tuple[int, int] | None:
        return spread_of([*self.parts, *([new] if new else [])])

    def _last_closing(self, watermark: int, spread: tuple[int, int]) -> int | None:
        holding = self._last_holding(spread)
        if watermark == END_OF_TIME:
            return holding
        closed = self.hops.last_closed(watermark)
        if closed is None or holding is None:
            return None
        # A landmark grows through a silence, too.
        return closed if self._grows else min(closed, holding)

    def _last_holding(self, spread: tuple[int, int]) -> int | None:
        """Return the last window worth a row when nothing more comes.

        A landmark's last window holds every tuple of the stream, whatever WHERE lets through: else
        it would depend on how far the watermark came before the end.
        """
        first, last = spread
        if self._grows and self.high is not None:
            last = max(last, self.high)
        return self.hops.last_holding(first, last)

    @property
    def _grows(self) -> bool:
        return self.hops.lower == 0 and self.hops.upper > 0

    def _rise(self, run: Run) -> None:
        if run.high is not None:
            high = shifted(run.high, self.aggregate.time.offset)
            self.high = high if self.high is None else max(self.high, high)

    def _moved(self, number: int | None, watermark: int) -> int | None:
        """Return the first window that stays open, never an earlier one than before."""
        if watermark == BEGIN_OF_TIME:
            return number
        if watermark == END_OF_TIME:
            spread = self._spread(None)
            reached = None if spread is None else self._last_holding(spread)
        else:
            reached = self.hops.last_closed(watermark)
        if reached is None:
            return number
        return reached + 1 if number is None else max(number, reached + 1)

    def _let_go(self) -> None:
        number = self.kept_number
        if number is None:
            return
        if self.hops.is_over(number):
            gone, self.parts = self.parts, []
        elif self.hops.lower > 0:
            start = self.hops.start_of(number)
            gone = [part for part in self.parts if part.last_pane < start]
            self.parts = [from_pane(part, start) for part in self.parts if part.last_pane >= start]
        else:
            return
        for part in gone:
            part.rows.delete()

    def _mark(self, marks: Sequence[int]) -> int:
        return shifted(marks[0], self.aggregate.time.offset)

    def _with_arrival(self, partials: pa.Table | None) -> pa.Table | None:
        """Number kept tuples as they came."""
        if partials is None or self.aggregate.raw is None:
            return partials
        numbers = np.arange(self.arrived, self.arrived + partials.num_rows, dtype=np.int64)
        return partials.append_column(ARRIVAL, pa.array(numbers))

    def _tidy(self, processor: Processor, unit: Unit) -> None:
        """Combine parts and spill large ones; what fails is tried again after the next run."""
        while parts := self.to_compact():
            self.replace(parts, self._combined(processor, unit, parts))
        for part in self.parts:
            if not part.rows.is_small:
                part.rows.leave_memory(processor.spill)

    def _combined(self, processor: Processor, unit: Unit, parts: Sequence[Part]) -> pa.Table:
        """Return the partials of several parts as one table."""
        tables = [part.rows.table for part in parts]
        if all(table is not None for table in tables):
            whole = laid_together(tables)
            if is_small(whole) and self._collapse_before is None:
                return whole  # not worth a job: laying them together makes one leaf as well
        return processor.compact(unit, [part.rows for part in parts], self._collapse_before)

    @property
    def _collapse_before(self) -> int | None:
        """Return before where a landmark's panes are needed only together."""
        if not self._grows or not self.kept_number:
            return None
        return self.hops.end_of(self.kept_number - 1)

    def to_compact(self) -> list[Part]:
        """Return parts to combine. Tuples do not; only small lots of them are laid together."""
        return to_combine([p for p in self.parts if self.aggregate.raw is None or p.rows.is_small])

    def replace(self, parts: Sequence[Part], partials: pa.Table) -> None:
        """Put combined partials in the place of the parts that they were made of."""
        gone = {id(part) for part in parts}
        self.parts = [part for part in self.parts if id(part) not in gone]
        self.parts.append(part_of(partials, parts[0].level + 1))
        for part in parts:
            part.rows.delete()
