"""The state of a window join: what is still there of each side, and how far it is decided.

    reached: the watermarks of both sides after the last run. A tuple of a preserved side with u
             before the other's has been decided upon: it had a partner, or came without one.

A tuple behind its own side's watermark is late and meets nobody.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.processor import Leaf, Made
from penstock.engine.states.joins.crowded_keys import Meeting, are_crowded
from penstock.engine.states.joins.kept_rows import (
    JoinRows,
    KeptRows,
    input_rows,
    late_rows,
    selected,
    undone,
)
from penstock.engine.states.parts import Part
from penstock.engine.states.state import KeptState, Run, RunOutput
from penstock.engine.trains.rows import Rows, empty_table, fit, in_memory, laid_together
from penstock.engine.trains.types import arrow_schema
from penstock.model.own_names import LEFT, RIGHT
from penstock.model.trains import BEGIN_OF_TIME
from penstock.plan.operators.joins.window_join import (
    BROADCAST,
    HASH,
    MET,
    UNTIL,
    How,
    Marks,
    WindowJoin,
)
from penstock.plan.select.punctuation import over_partners, renamed

SIDES = (0, 1)
BROADCAST_ROWS = 100_000  # more are sooner shuffled than sent to everybody


@dataclass(frozen=True, slots=True)
class EndedSide:
    """Tuples of a side that were said to come no more; the partners they had are gone.

    `condition` speaks of the state's columns; one that comes all the same is late up to `until`.
    """

    place: int
    condition: str
    until: int


@dataclass(slots=True)
class WindowJoinState:
    """Rows of both sides."""

    join: WindowJoin
    reached: Marks = (BEGIN_OF_TIME, BEGIN_OF_TIME)
    ended: list[EndedSide] = field(default_factory=list)
    rows: KeptRows = field(init=False)

    def __post_init__(self) -> None:
        """Keep nothing at first."""
        sides = (JoinRows(self.join.state_schema(place), MET, UNTIL) for place in SIDES)
        self.rows = KeptRows(tuple(sides), "side", "lr")

    def step(self, run: Run) -> RunOutput:
        """Join what is new with what is there, and let go of what has passed."""
        marks = self.join.marks(run.marks)
        arrived = [self._arrived(run, place) for place in SIDES]
        new = self.rows.parts_of(table for table, _ in arrived)
        with undone(new):
            table = self._joined(run, new, marks)
        needed_from = [self.join.needed_from(place, marks) for place in SIDES]
        self.rows.accept(new, needed_from, run.processor.spill, run.processor.room)
        self.reached = marks
        self.ended = [each for each in self.ended if each.until >= marks[each.place]]
        late = late_rows(self.join.late_schema, [each for _, each in arrived], [MET, UNTIL])
        return RunOutput.of(table, run.unit.root.schema, late)

    def punctuate(self, run: Run, conditions: Mapping[int, str]) -> RunOutput:
        """Drop rows whose partners were declared complete."""
        for place, condition in conditions.items():
            side, other = self.join.sides[place], self.rows.sides[1 - place]
            held = over_partners(self.join, place, condition)
            if not held or not other.parts:
                continue
            view, schema = run.view("partners"), self.join.state_schema(1 - place)
            sql = f"SELECT * FROM {view} WHERE NOT coalesce({held}, false)"
            rest = run.select(sql, {view: (other.rows, schema)}, schema)
            until = max(part.last for part in other.parts)
            other.keep_only(rest)
            own = renamed(condition, dict(side.columns))
            self.ended.append(EndedSide(place, own, until))
        return RunOutput(empty_table(run.unit.root.schema))

    def promise(self, marks: Sequence[int]) -> int:
        """Return the watermark of what the join gives."""
        return self.join.promise(marks)

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        ended = [asdict(each) for each in self.ended]
        return KeptState({"reached": list(self.reached), "ended": ended}, self.rows.kept())

    @classmethod
    def back(cls, join: WindowJoin, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        left, right = kept.facts["reached"]
        state = cls(join, (left, right), [EndedSide(**each) for each in kept.facts["ended"]])
        state.rows.back(kept.parts)
        return state

    def _arrived(self, run: Run, place: int) -> tuple[pa.Table, pa.Table | None]:
        """Return the new tuples as the state keeps them, and those that came too late."""
        table = arrived(self.join, run, place)
        mark, late = self.reached[place], None
        if table.num_rows and mark != BEGIN_OF_TIME and pc.min(table[MET]).as_py() < mark:
            in_time = pc.greater_equal(table[MET], mark)
            table, late = table.filter(in_time), table.filter(pc.invert(in_time))
        return self._without_strays(run, place, table, late)

    def _without_strays(
        self, run: Run, place: int, table: pa.Table, late: pa.Table | None
    ) -> tuple[pa.Table, pa.Table | None]:
        """Take out what should not have come any more."""
        ended = [f"(({e.condition}) AND {MET} <= {e.until}L)" for e in self._ended_of(place)]
        if not ended or not table.num_rows:
            return table, late
        is_stray = f"coalesce({' OR '.join(ended)}, false)"
        view, schema = run.view(f"arrived_{place}"), self.join.state_schema(place)
        leaves: dict[str, Leaf] = {view: ([in_memory(table)], schema)}
        rest, strays = (
            run.select(f"SELECT * FROM {view} WHERE {each}", leaves, schema, single=False)
            for each in (f"NOT {is_stray}", is_stray)
        )
        return rest, strays if late is None else laid_together([late, strays])

    def _ended_of(self, place: int) -> list[EndedSide]:
        return [each for each in self.ended if each.place == place]

    def _joined(self, run: Run, new: Sequence[Part | None], marks: Marks) -> Made:
        rows = self.in_play(new, marks)
        how = self.how(run, rows, new)

        def sql(at: Mapping[str, str]) -> str:
            return self.join.run_sql(at, self.reached, marks, how)

        return self.rows.joined(run, rows, sql, branches=len(SIDES))

    @property
    def meeting(self) -> Meeting:
        """Return how its rows meet."""
        decided = bool(self.join.preserved)
        return Meeting(self.join.on, (LEFT, RIGHT), self.join.reach, decided)

    def in_play(self, new: Sequence[Part | None], marks: Marks) -> dict[str, list[Rows]]:
        """Return the relations of a run."""
        return self.rows.in_play(new, lambda at, part: self._is_in_play(at, part, new, marks))

    def how(self, run: Run, rows: Mapping[str, Sequence[Rows]], new: Sequence[Part | None]) -> How:
        """Return how to join: within a task each, or by sending the fewer rows to all workers."""
        counts = {name: sum(each.count for each in parts) for name, parts in rows.items()}
        most = max(counts["new_l"], counts["new_r"])
        few = run.processor.fits_tasks(sum(counts.values()) - counts["all_l"], len(SIDES))
        kind = HASH if few or most > BROADCAST_ROWS else BROADCAST
        return How(kind, counts, by_time=are_crowded(self.rows, new, rows, self.meeting))

    def _is_in_play(self, place: int, part: Part, new: Sequence[Part | None], marks: Marks) -> bool:
        """Say whether this run has to look at an old part.

        Where tuples are decided upon, everything that is kept of the other side has a say.
        """
        other = 1 - place
        decides = other in self.join.preserved or self._is_decided(part, place, marks)
        return decides or _may_meet(part, new[other])

    def _is_decided(self, part: Part, place: int, marks: Marks) -> bool:
        """Say whether a tuple of it may pass the time in which it could meet somebody."""
        other = 1 - place
        return (
            place in self.join.preserved
            and self.reached[other] <= part.last
            and (part.first < marks[other])
        )


def arrived(join: WindowJoin, run: Run, place: int) -> pa.Table:
    """Return the new tuples of an input as the state keeps them."""
    schema, side = join.state_schema(place), join.sides[place]
    hidden = [MET, UNTIL] if side.carries else [side.time.column]
    table = input_rows(run, place, [*(name for name, _ in side.columns), *hidden])
    if table is None:
        sql = join.state_sql(place, f"({run.input_sql(place)})")
        return selected(run, sql, schema)
    columns = [table[name] for name, _ in side.columns]
    met = table[MET] if side.carries else table[side.time.column].cast(pa.int64())
    until = table[UNTIL] if side.carries else pc.add(met, side.width)
    return fit(pa.table([*columns, met, until], names=list(schema.names)), arrow_schema(schema))


def _may_meet(part: Part, other: Part | None) -> bool:
    return other is not None and part.last >= other.first and part.first <= other.last
