"""The state of a join without windows: tuples that may still meet somebody, by their keys.

    passed: of each input, the key that all of its tuples to come are above (`qos/joins/release.py`)

Sorted first, tuples wait until their own input has passed their key, and then join in order.
A tuple that is further out of place than was stated is late: it meets nobody. Where that is
measured, it meets whoever is still there, unless the join has to say who had no partner.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.processor import Made
from penstock.engine.states.joins.kept_rows import (
    KeptRows,
    in_order,
    input_rows,
    late_rows,
    selected,
    undone,
)
from penstock.engine.states.joins.key_orders import WHAT, KeyOrders, Keys
from penstock.engine.states.joins.key_rows import KeyRows, Span
from penstock.engine.states.parts import Part
from penstock.engine.states.state import KeptState, Run, RunOutput
from penstock.engine.trains.join_memory import JoinMemory, Wanted
from penstock.engine.trains.rows import Rows, fit, in_memory, laid_together
from penstock.engine.trains.types import arrow_schema
from penstock.errors import PenstockError
from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.plan.operators.joins.oblivious_join import KEY, ObliviousJoin
from penstock.plan.operators.orders import orders_of
from penstock.qos.joins.figures import InputFigures
from penstock.qos.joins.memory import ON_DISK, SORTING, leads, near
from penstock.qos.joins.release import let_go_until
from penstock.qos.monitor.order import Order

WAITING, THERE = "waiting", "there"


@dataclass(frozen=True, slots=True)
class Arrived:
    """New tuples of an input with keys, those without one, those that are late, and their order."""

    table: pa.Table
    unkeyed: pa.Table
    late: pa.Table | None
    order: Order
    strays: int


@dataclass(frozen=True, slots=True)
class KeptInput:
    """What is known and kept of an input: `near` in memory, `far` on disk, `unsorted` yet."""

    figures: InputFigures
    is_stated: bool
    near: int
    far: int
    unsorted: int
    memory_bytes: int
    strays: int


@dataclass(slots=True, eq=False, weakref_slot=True)
class ObliviousJoinState:
    """`there` may meet somebody; `waiting` are to be put in order first."""

    join: ObliviousJoin
    passed: list[int | None] = field(init=False)
    strays: list[int] = field(init=False)
    orders: KeyOrders = field(init=False)
    there: KeptRows = field(init=False)
    waiting: KeptRows = field(init=False)
    rows_out: int = 0
    granted: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Keep nothing at first."""
        self.passed = [None for _ in self._places]
        self.strays = [0 for _ in self._places]
        self.orders = KeyOrders([each.order for each in self.join.joined])
        self.there = KeptRows(tuple(self._rows(place) for place in self._places))
        self.waiting = KeptRows(tuple(self._rows(place) for place in self._places))

    def step(self, run: Run) -> RunOutput:
        """Join what is new with what is there, and let go of what meets nobody any more."""
        came = [self._arrived(run, place) for place in self._places]
        passed = [self._passed(place, came[place].order, run) for place in self._places]
        ready, waiting = self._ready([each.table for each in came], passed)
        new = self.there.parts_of(ready)
        with undone(new):
            made = self._joined(run, new, [each.unkeyed for each in came], passed)
            output = RunOutput.of(made, run.unit.root.schema, self._late(came))
        self._accept(run, came, passed, new, waiting)
        self.rows_out += output.rows.count
        return output

    def _late(self, came: Sequence[Arrived]) -> pa.Table | None:
        return late_rows(self.join.late_schema, [each.late for each in came], [KEY])

    def promise(self, marks: Sequence[int]) -> int:
        """Return the end of time at the end: rows to come may be of any age."""
        return min(marks)

    def kept(self) -> KeptState:
        """Return the state for a checkpoint."""
        facts = {"passed": self.passed, "strays": self.strays, "rows_out": self.rows_out}
        rows = [*self.there.kept(what=THERE), *self.waiting.kept(what=WAITING)]
        return KeptState(facts, [*rows, *self.orders.kept()])

    @classmethod
    def back(cls, join: ObliviousJoin, kept: KeptState) -> Self:
        """Return the state that a checkpoint kept."""
        state = cls(join)
        state.passed, state.strays = list(kept.facts["passed"]), list(kept.facts["strays"])
        state.rows_out = kept.facts["rows_out"]
        for what, rows in ((THERE, state.there), (WAITING, state.waiting)):
            rows.back([part for part in kept.parts if part.facts[WHAT] == what])
        state.orders.back(kept.parts)
        return state

    def told(self) -> list[KeptInput]:
        """Return what is known and kept of each input."""
        figures = self.orders.figures()
        return [self._told(place, figures[place]) for place in self._places]

    @property
    def memory_limit(self) -> int | None:
        """Return the bytes that its tuples may take in memory: its share, or its own bound."""
        known = self.join.keeping.memory if self.granted is None else self.granted
        return None if known is None else int(known)

    def accuracy(self) -> float:
        """Return how many of its rows it has given at least, as far as strays tell.

        A stray has missed no more than one partner of each other input for each that a key has.
        """
        each = [figures.multiplicity for figures in self.orders.figures()]
        found = zip(self.strays, each, strict=True)
        missed = sum(strays * (math.prod(each) // own) for strays, own in found)
        return self.rows_out / (self.rows_out + missed) if missed else 1.0

    def _told(self, place: int, figures: InputFigures) -> KeptInput:
        there, waiting = self.sides(self.there)[place], self.sides(self.waiting)[place]
        near, far = there.counts()
        stated = self.join.joined[place].order.factor is not None
        size = there.memory_bytes + waiting.memory_bytes
        unsorted = sum(waiting.counts())
        return KeptInput(figures, stated, near, far, unsorted, size, self.strays[place])

    def sides(self, rows: KeptRows) -> list[KeyRows]:
        """Return the rows of each input."""
        return [side for side in rows.sides if isinstance(side, KeyRows)]

    @property
    def _places(self) -> range:
        return range(len(self.join.joined))

    @property
    def _sorts(self) -> bool:
        return self.join.keeping.strategy in SORTING

    def _rows(self, place: int) -> KeyRows:
        return KeyRows(self.join.state_schema(place), KEY, KEY)

    # -- what came -----------------------------------------------------------------------

    def _arrived(self, run: Run, place: int) -> Arrived:
        table = keyed_rows(self.join, run, place)
        has_key = table[KEY].is_valid()
        unkeyed = table.filter(pc.invert(has_key)) if table[KEY].null_count else table.slice(0, 0)
        table = table.filter(has_key) if table[KEY].null_count else table
        keys: Keys = np.asarray(table[KEY].to_numpy(), dtype=np.int64)
        order, strays = self.orders.seen[place].add(keys), self._strays(place, keys)
        found, late = int(strays.sum()), None
        is_stated = self.join.joined[place].order.factor is not None
        if found and (is_stated or self.join.decides):
            late = table.filter(pa.array(strays))
            table = table.filter(pa.array(~strays))
        return Arrived(table, unkeyed, late, order, found)

    def _strays(self, place: int, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return which keys are further out of place than partners were kept for.

        A factor that is measured has grown since, but what had been passed before stays passed.
        """
        strays, passed = self.orders.strays(place, keys), self.passed[place]
        return strays if passed is None else strays | (keys <= passed)

    def _passed(self, place: int, order: Order, run: Run) -> int | None:
        """Return what an input has passed; never less than before."""
        if run.marks[place] == END_OF_TIME:
            return END_OF_TIME
        found, before = self.orders.passed(place, order), self.passed[place]
        known = [each for each in (found, before) if each is not None]
        return max(known, default=None)

    def _ready(
        self, came: Sequence[pa.Table], passed: Sequence[int | None]
    ) -> tuple[list[pa.Table], list[pa.Table] | None]:
        """Return the tuples that join now, and those that wait to be put in order."""
        if not self._sorts:
            return list(came), None
        ready, waiting = [], []
        for table, before, until in zip(came, self.waiting.tables, passed, strict=True):
            pool = laid_together([before, table]).combine_chunks()
            if until is None:
                in_order = pool.slice(0, 0)
            else:
                is_next = pc.less_equal(pool[KEY], until)
                in_order, pool = pool.filter(is_next), pool.filter(pc.invert(is_next))
            ready.append(in_order.sort_by(KEY))
            waiting.append(pool)
        return ready, waiting

    # -- what it makes -------------------------------------------------------------------

    def _joined(
        self,
        run: Run,
        new: Sequence[Part | None],
        unkeyed: Sequence[pa.Table],
        passed: Sequence[int | None],
    ) -> Made:
        span = _span(new, list(self._decided_keys(passed)))
        rows: dict[str, list[Rows]] = {}
        for place, side in enumerate(self.sides(self.there)):
            part = new[place]
            arrived = [part.rows] if part is not None else []
            there = side.meeting(span, let_go_until(self.passed, place, decides=self.join.decides))
            rows |= {f"new_{place}": arrived, f"old_{place}": there}
            rows[f"all_{place}"] = [*there, *arrived]
        for place in self.join.preserved:
            until = let_go_until(passed, place)
            rows[f"passed_{place}"] = self._decided(place, rows, until, unkeyed[place])
        # By the key, where it is shown, rows are least out of place.
        order = list(orders_of(run.unit.root))[:1]
        sql_of, branches = self.join.run_sql, len(self._places)
        return self.there.joined(run, rows, sql_of, branches=branches, order=order)

    def _decided_keys(self, passed: Sequence[int | None]) -> Iterator[Span]:
        """Yield for which keys it is decided now who of a preserved input had no partner."""
        for place in self.join.preserved:
            before, now = let_go_until(self.passed, place), let_go_until(passed, place)
            if now is not None and now != before:
                yield (BEGIN_OF_TIME if before is None else before), now

    def _decided(
        self, place: int, rows: Mapping[str, Sequence[Rows]], until: int | None, unkeyed: pa.Table
    ) -> list[Rows]:
        """Return the tuples about which it is decided now; one without a key never meets anybody.

        Of those that are new, some have keys that the others had passed before.
        """
        schema, found = self.join.state_schema(place), [unkeyed]
        before = let_go_until(self.passed, place)
        for age in ("new", "old") if until is not None else ():
            for each in rows[f"{age}_{place}"]:
                table = each.to_table(schema)
                mine = pc.less_equal(table[KEY], until)
                if age == "old" and before is not None:
                    mine = pc.and_(mine, pc.greater(table[KEY], before))
                found.append(table.filter(mine))
        table = laid_together(found).combine_chunks()
        return [in_memory(table)] if table.num_rows else []

    # -- what it keeps -------------------------------------------------------------------

    def _accept(
        self,
        run: Run,
        came: Sequence[Arrived],
        passed: Sequence[int | None],
        new: Sequence[Part | None],
        waiting: Sequence[pa.Table] | None,
    ) -> None:
        """Keep what may meet somebody to come."""
        processor = run.processor
        for place, side in enumerate(self.sides(self.there)):
            until = let_go_until(passed, place, decides=self.join.decides)
            side.let_go(new[place], until, processor.spill, processor.room)
        if waiting is not None:
            self.waiting.keep_only(waiting)
        self.passed = list(passed)
        self.strays = [n + each.strays for n, each in zip(self.strays, came, strict=True)]
        self.orders.accept([each.order for each in came], _moment(run))
        with suppress(PenstockError, OSError):  # the run counts from here on
            self._use_disk(run)

    def _use_disk(self, run: Run) -> None:
        """Send tuples to disk that will not be needed soon, and bring those back that will."""
        keeping, sides = self.join.keeping, self.sides(self.there)
        self.granted = self._granted(run.processor.joins)
        always = keeping.strategy in ON_DISK
        if not always and self.granted is None and not any(side.counts()[1] for side in sides):
            return
        figures = self.orders.figures()
        most = np.inf if self.granted is None else self.granted / len(sides)
        highs = [each.high for each in self.orders.seen]
        for place, side in enumerate(sides):
            others = [high for at, high in enumerate(highs) if at != place and high is not None]
            soon = min(others, default=BEGIN_OF_TIME)
            side.bring_near(soon)
            if always and leads(figures, place):
                side.send_far(near(figures, place), most, soon, run.processor.spill)
            elif self.granted is not None:
                side.send_far(np.inf, most, soon, run.processor.spill)

    def _granted(self, memory: JoinMemory) -> float | None:
        """Return how many bytes its tuples may take in memory; None where nothing bounds them."""
        sides = [*self.sides(self.there), *self.sides(self.waiting)]
        wanted = Wanted(sum(side.whole_bytes for side in sides), not self.join.keeping.may_spill)
        bounds = [memory.share(self, wanted), self.join.keeping.memory]
        return min((each for each in bounds if each is not None), default=None)


def keyed_rows(join: ObliviousJoin, run: Run, place: int) -> pa.Table:
    """Return the new tuples of an input in order of arrival, with their keys as whole numbers."""
    schema, each = join.state_schema(place), join.joined[place]
    table = input_rows(run, place, [*(name for name, _ in each.columns), each.time.column])
    if table is None:
        sql = join.arrival_sql(place, f"({run.input_sql(place)})")
        return selected(in_order(run), sql, schema)
    key = table[each.time.column]
    if pa.types.is_date(key.type):
        key = key.cast(pa.int32())
    columns = [*(table[name] for name, _ in each.columns), key.cast(pa.int64())]
    return fit(pa.table(columns, names=list(schema.names)), arrow_schema(schema))


def _span(new: Sequence[Part | None], decided: Sequence[Span]) -> Span | None:
    """Return the keys of which old tuples may be asked."""
    spans = [(part.first, part.last) for part in new if part is not None] + list(decided)
    if not spans:
        return None
    return min(first for first, _ in spans), max(last for _, last in spans)


def _moment(run: Run) -> float:
    """Return when the latest of a run's trains had come."""
    times = [train.info.arrived for trains in run.trains.values() for train in trains]
    return max(times, default=0.0)
