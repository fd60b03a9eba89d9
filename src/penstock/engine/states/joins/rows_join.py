"""The state of a join over ROWS: tuples that wait for their place, and those that are there.

Few tuples stay, so they are kept and ordered in the driver; Spark joins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.processor import Made
from penstock.engine.states.joins.kept_rows import KeptRows, late_rows, timed_rows
from penstock.engine.states.state import KeptState, Run, RunOutput
from penstock.engine.trains.rows import fit, in_memory, laid_together
from penstock.engine.trains.types import arrow_schema
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME, shifted
from penstock.plan.operators.joins.rows_join import NUMBER, TIME, RowsJoin, count_of


@dataclass(frozen=True, slots=True)
class JoinPosition:
    """A place in the order: no tuple behind it has an earlier time, or lower counts."""

    time: int
    counts: tuple[int, ...]


@dataclass(slots=True)
class RowsJoinState:
    """`there` are the tuples of each input that still matter, `waiting` those without a place."""

    join: RowsJoin
    now: JoinPosition = field(init=False)
    marks: tuple[int, ...] = field(init=False)
    placed: int = 0
    waiting: KeptRows = field(init=False)
    there: KeptRows = field(init=False)

    def __post_init__(self) -> None:
        """Keep nothing at first."""
        places = range(len(self.join.joined))
        self.now = JoinPosition(BEGIN_OF_TIME, (0,) * len(places))
        self.marks = (BEGIN_OF_TIME,) * len(places)
        self.waiting = KeptRows.of(map(self.join.arrival_schema, places), TIME)
        self.there = KeptRows.of(map(self.join.state_schema, places), TIME)

    def step(self, run: Run) -> RunOutput:
        """Give tuples their places, and join what has one since this run."""
        marks = tuple(
            shifted(mark, each.time.offset)
            for mark, each in zip(run.marks, self.join.joined, strict=True)
        )
        arrived = [self._arrived(run, place) for place in self._places]
        ready, waiting = self._split([table for table, _ in arrived], min(marks))
        new, counts = self._numbered(ready)
        now = JoinPosition(min(marks), counts)
        there = self.there.tables
        everything = [laid_together(pair) for pair in zip(there, new, strict=True)]
        table = self._joined(run, there, new, now)
        late = late_rows(self.join.late_schema, [each for _, each in arrived], [TIME])
        self.there.keep_only([self._kept(place, everything, now) for place in self._places])
        self.waiting.keep_only(waiting)
        self.now, self.marks = now, marks
        self.placed += sum(each.num_rows for each in new)
        return RunOutput.of(table, run.unit.root.schema, late)

    def promise(self, marks: Sequence[int]) -> int:
        """Return the time that a combination to come has at least."""
        return self.join.watermark(marks)

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        facts = {
            "time": self.now.time,
            "counts": list(self.now.counts),
            "marks": list(self.marks),
            "placed": self.placed,
        }
        return KeptState(
            facts, [*self.waiting.kept(what="waiting"), *self.there.kept(what="there")]
        )

    @classmethod
    def back(cls, join: RowsJoin, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        state = cls(join)
        state.now = JoinPosition(kept.facts["time"], tuple(kept.facts["counts"]))
        state.marks, state.placed = tuple(kept.facts["marks"]), kept.facts["placed"]
        for what, rows in (("waiting", state.waiting), ("there", state.there)):
            rows.back([part for part in kept.parts if part.facts["what"] == what])
        return state

    @property
    def _places(self) -> range:
        return range(len(self.join.joined))

    def _arrived(self, run: Run, place: int) -> tuple[pa.Table, pa.Table | None]:
        """Return the new tuples, and those that came behind their own input's watermark."""
        table = timed_rows(run, place, self.join.joined[place], TIME)
        in_time = pc.greater_equal(table[TIME], self.marks[place])
        if pc.all(in_time, min_count=0).as_py():
            return table, None
        return table.filter(in_time), table.filter(pc.invert(in_time))

    def _split(
        self, arrived: Sequence[pa.Table], mark: int
    ) -> tuple[list[pa.Table], list[pa.Table]]:
        """Return the tuples of each input that have their place now, and those that wait."""
        ready, waiting = [], []
        for pair in zip(self.waiting.tables, arrived, strict=True):
            table = laid_together(pair).combine_chunks()
            if mark != END_OF_TIME:  # of the watermark's own time, more may come
                is_ready = pc.less(table[TIME], mark)
                waiting.append(table.filter(pc.invert(is_ready)))
                table = table.filter(is_ready)
            else:
                waiting.append(table.slice(0, 0))
            ready.append(table)
        return ready, waiting

    def _numbered(self, ready: Sequence[pa.Table]) -> tuple[list[pa.Table], tuple[int, ...]]:
        """Return the tuples with their places in one order, and each input's count."""
        times = np.concatenate([_numbers(table[TIME]) for table in ready])
        owners = np.repeat(np.array(self._places), [table.num_rows for table in ready])
        order = np.lexsort((owners, times))  # stable: ties of one input stay in order of arrival
        counts = {
            each: self.now.counts[each] + np.cumsum(owners[order] == each) for each in self._places
        }
        numbers = np.arange(1, len(order) + 1) + self.placed
        begins = np.cumsum([0, *(table.num_rows for table in ready)])
        found = []
        for place, table in enumerate(ready):
            mine = owners[order] == place
            rows = table.take(pa.array(order[mine] - begins[place]))
            rows = rows.append_column(NUMBER, pa.array(numbers[mine], pa.int64()))
            for each in self.join.counted:
                rows = rows.append_column(count_of(each), pa.array(counts[each][mine], pa.int64()))
            found.append(fit(rows, arrow_schema(self.join.state_schema(place))))
        totals = tuple(
            was + table.num_rows for was, table in zip(self.now.counts, ready, strict=True)
        )
        return found, totals

    def _joined(
        self, run: Run, there: Sequence[pa.Table], new: Sequence[pa.Table], now: JoinPosition
    ) -> Made:
        rows = self.there.in_play(self.there.parts_of(new))
        for place in self.join.preserved:
            passed = self._passed(place, there[place], new[place], now)
            rows[f"passed_{place}"] = [in_memory(passed)] if passed.num_rows else []
        return self.there.joined(run, rows, self.join.run_sql)

    def _passed(self, place: int, there: pa.Table, new: pa.Table, now: JoinPosition) -> pa.Table:
        """Return the tuples of an input whose window has passed since the run before."""
        old = there.filter(self._is_there(place, there, self.now))
        undecided = laid_together([old, new])
        return undecided.filter(pc.invert(self._is_there(place, undecided, now)))

    def _kept(self, place: int, everything: Sequence[pa.Table], now: JoinPosition) -> pa.Table:
        """Return the tuples that may meet one to come, or decide about one of the other side."""
        table = everything[place]
        stays = self._is_there(place, table, now)
        other = 0 if self.join.waits else 1 - place
        if other != place and other in self.join.preserved:
            undecided = everything[other].filter(self._is_there(other, everything[other], now))
            if undecided.num_rows:
                stays = pc.or_(stays, self._is_there(place, table, self._moment(place, undecided)))
        return table.filter(stays).combine_chunks()

    def _moment(self, place: int, undecided: pa.Table) -> JoinPosition:
        """Return the moment of the first of these tuples, as an input sees it."""
        first = undecided.take([int(np.argmin(_numbers(undecided[NUMBER])))])
        counts = list(self.now.counts)
        if place in self.join.counted:
            counts[place] = first[count_of(place)][0].as_py()
        return JoinPosition(first[TIME][0].as_py(), tuple(counts))

    def _is_there(self, place: int, table: pa.Table, at: JoinPosition) -> Any:
        """Return for each tuple whether it is there at a moment, or comes later."""
        stay = self.join.stays[place]
        if at.time == END_OF_TIME:
            return pa.array(np.zeros(table.num_rows, dtype=bool))
        if stay.span is not None:
            until = pc.add(table[TIME], stay.span)
            return pc.greater_equal(until, at.time)
        since = pc.subtract(at.counts[place], table[count_of(place)])
        return pc.less(since, stay.rows)


def _numbers(column: pa.ChunkedArray) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    return np.asarray(column.to_numpy(), dtype=np.int64)
