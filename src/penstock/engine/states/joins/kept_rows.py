"""The rows that a join keeps of its inputs: parts, append-only, with the times that they span.

A run joins what is new with what is there. Its SELECT reads, of each input, what is new, old, and
both together: relations new_0, old_0, all_0 and so on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.spark.jobs.processor import Leaf, Made
from penstock.engine.states.parts import Part, crowded, spill_large
from penstock.engine.states.state import KeptPart, Run
from penstock.engine.trains.memory_budget import MemoryBudget
from penstock.engine.trains.rows import (
    Rows,
    empty_table,
    fit,
    in_memory,
    laid_together,
    read_parquet,
)
from penstock.engine.trains.types import arrow_schema
from penstock.errors import PenstockError
from penstock.model.schema import Column, Schema
from penstock.plan.operators import key
from penstock.plan.operators.joins.join_input import JoinInput

Select = Callable[[Mapping[str, str]], str]  # over views of relations; empty where nothing can come
MERGE_ROWS = 200_000  # larger parts stay: writing them again costs more than scanning them


@dataclass(slots=True)
class JoinRows:
    """The rows of one input; `low` and `high` name the columns of a part's first and last value."""

    schema: Schema
    low: str
    high: str
    parts: list[Part] = field(default_factory=list)

    @property
    def rows(self) -> list[Rows]:
        """Return the rows in order of arrival."""
        return [part.rows for part in self.parts]

    def part_of(self, table: pa.Table) -> Part | None:
        """Return a part that is not kept yet, or None where there are no rows."""
        if not table.num_rows:
            return None
        return Part(in_memory(table), *self._span(table))

    def accept(self, new: Part | None, needed_from: int, spill: Path, room: MemoryBudget) -> None:
        """Keep a part, and let go of those whose last value lies before what is needed."""
        if new is not None:
            self.parts.append(new)
        gone = [part for part in self.parts if part.last < needed_from]
        self.parts = [part for part in self.parts if part.last >= needed_from]
        for part in gone:
            part.rows.delete()
        # The run counts from here on, so nothing below may fail it: it would be done again.
        with suppress(PenstockError, OSError):
            self._tidy(needed_from)
            spill_large(self.parts, spill, room)

    def keep_only(self, table: pa.Table) -> None:
        """Put rows in the place of all that are kept."""
        gone, level = self.parts, max((part.level for part in self.parts), default=0)
        rest = self.part_of(table)
        self.parts = [] if rest is None else [replace(rest, level=level)]
        for part in gone:
            part.rows.delete()

    def kept(self, **facts: Any) -> list[KeptPart]:
        """Return the parts for a checkpoint."""
        return [part.kept(**facts) for part in self.parts]

    def back(self, parts: Iterable[KeptPart]) -> Self:
        """Take the parts that a checkpoint kept."""
        self.parts = [self._back(each) for each in parts if each.rows.count]
        return self

    def _back(self, part: KeptPart) -> Part:
        if "first" not in part.facts:  # homes may hold rows of joins over ROWS without their span
            return Part(part.rows, *self._span(part.rows.to_table(self.schema)))
        return Part.back(part)

    def _tidy(self, needed_from: int) -> None:
        """Merge parts of one level once there are many."""
        while parts := crowded([part for part in self.parts if part.rows.count < MERGE_ROWS]):
            table = laid_together([part.rows.to_table(self.schema) for part in parts])
            table = table.filter(pc.greater_equal(table[self.high], needed_from)).combine_chunks()
            merged = [Part(in_memory(table), *self._span(table), parts[0].level + 1)]
            at = self.parts.index(parts[0])
            gone = {id(part) for part in parts}
            rest = [part for part in self.parts[at:] if id(part) not in gone]
            self.parts = [*self.parts[:at], *(merged if table.num_rows else ()), *rest]
            for part in parts:
                part.rows.delete()

    def _span(self, table: pa.Table) -> tuple[int, int]:
        if not table.num_rows:
            return 0, 0
        return pc.min(table[self.low]).as_py(), pc.max(table[self.high]).as_py()


@dataclass(slots=True)
class KeptRows:
    """The rows of all inputs of a join, by their places.

    `tag` is what checkpoints call an input's place, and `names` what the join's SELECT does: by
    itself its number.
    """

    sides: tuple[JoinRows, ...]
    tag: str = "input"
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Number the inputs where they have no names."""
        self.names = self.names or tuple(str(place) for place in range(len(self.sides)))

    @classmethod
    def of(cls, schemas: Iterable[Schema], time: str) -> Self:
        """Return rows of inputs that are kept by their times."""
        return cls(tuple(JoinRows(schema, time, time) for schema in schemas))

    @property
    def parts(self) -> list[Part]:
        """Return the parts of all inputs."""
        return [part for side in self.sides for part in side.parts]

    @property
    def tables(self) -> list[pa.Table]:
        """Return the rows of each input as one table, in order of arrival."""
        return [whole(side.rows, side.schema) for side in self.sides]

    def parts_of(self, tables: Iterable[pa.Table]) -> list[Part | None]:
        """Return parts of each input that are not kept yet."""
        return [side.part_of(table) for side, table in zip(self.sides, tables, strict=True)]

    def accept(
        self,
        new: Sequence[Part | None],
        needed_from: Sequence[int],
        spill: Path,
        room: MemoryBudget,
    ) -> None:
        """Keep what is new, and let go of what lies before what is needed of each input."""
        for side, part, needed in zip(self.sides, new, needed_from, strict=True):
            side.accept(part, needed, spill, room)

    def keep_only(self, tables: Iterable[pa.Table]) -> None:
        """Put rows of each input in the place of all that are kept."""
        for side, table in zip(self.sides, tables, strict=True):
            side.keep_only(table)

    def in_play(
        self, new: Sequence[Part | None], old: Callable[[int, Part], bool] = lambda *_: True
    ) -> dict[str, list[Rows]]:
        """Return the relations of a run, of those old parts that it has to look at."""
        found: dict[str, list[Rows]] = {}
        for place, (side, part) in enumerate(zip(self.sides, new, strict=True)):
            arrived, name = [part.rows] if part is not None else [], self.names[place]
            there = [each.rows for each in side.parts if old(place, each)]
            found |= {f"new_{name}": arrived, f"old_{name}": there}
            found[f"all_{name}"] = [*there, *arrived]
        return found

    def leaves(self, run: Run, rows: Mapping[str, Sequence[Rows]], sql: str) -> dict[str, Leaf]:
        """Return the relations that a SELECT reads; their names end in those of their inputs."""
        return {
            run.view(name): (each, self.sides[self.names.index(name.rpartition("_")[2])].schema)
            for name, each in rows.items()
            if each and run.view(name) in sql
        }

    def joined(
        self,
        run: Run,
        rows: Mapping[str, Sequence[Rows]],
        sql_of: Select,
        *,
        branches: int = 1,
        order: Sequence[str] | None = None,
    ) -> Made:
        """Return what the unit's root makes of a SELECT, in an order that a replay gives again.

        It is by the columns of `order` first, or by those of the root's times.
        """
        root, sql = run.unit.root, sql_of(views_of(run, rows))
        if not sql:
            return empty_table(root.schema)
        above, leaves = run.unit.above_sql(f"({sql})"), self.leaves(run, rows, sql)
        first = [time.column for time in root.times] if order is None else order
        return run.made(above, leaves, root.schema, first, branches=branches)

    def kept(self, **facts: str) -> list[KeptPart]:
        """Return the parts for a checkpoint."""
        sides = enumerate(self.sides)
        return [part for place, side in sides for part in side.kept(**facts, **{self.tag: place})]

    def back(self, parts: Sequence[KeptPart]) -> None:
        """Take the parts that a checkpoint kept."""
        for place, side in enumerate(self.sides):
            side.back(part for part in parts if part.facts[self.tag] == place)


def views_of(run: Run, rows: Mapping[str, Sequence[Rows]]) -> dict[str, str]:
    """Return the views of the relations that have rows."""
    return {name: run.view(name) for name, each in rows.items() if each}


@contextmanager
def undone(parts: Sequence[Part | None]) -> Iterator[None]:
    """Remove what was written of parts that a failed run will not keep."""
    try:
        yield
    except Exception:
        for part in parts:
            if part is not None:
                part.rows.delete()
        raise


def input_rows(run: Run, place: int, columns: Sequence[str]) -> pa.Table | None:
    """Return columns of the tuples of an input that needs no computing, in order of arrival."""
    stateful = run.unit.stateful
    assert stateful is not None  # noqa: S101  (it is a state that asks)
    below = stateful.inputs[place]
    if key(below) not in run.rows:
        return None
    schema = Schema(tuple(c for c in below.schema if c.name in columns))
    return whole(run.rows[key(below)], schema)


def whole(parts: Sequence[Rows], schema: Schema) -> pa.Table:
    """Return these columns of rows as one table."""
    wanted = arrow_schema(schema)
    return laid_together([wanted.empty_table(), *(_columns(p, schema, wanted) for p in parts)])


def _columns(rows: Rows, schema: Schema, wanted: pa.Schema) -> pa.Table:
    if rows.table is not None:
        return fit(rows.table.select(wanted.names), wanted)
    return read_parquet(rows.paths, schema)


def selected(run: Run, sql: str, schema: Schema) -> pa.Table:
    """Return the rows of a SELECT over those of the unit's leaves that it reads."""
    leaves = {view: leaf for view, leaf in run.leaves().items() if view in sql}
    return run.select(sql, leaves, schema, single=False)


def timed_rows(run: Run, place: int, each: JoinInput, time: str) -> pa.Table:
    """Return the new tuples of an input in order of arrival, with their times in microseconds."""
    schema = Schema((*each.schema(), Column(time, "bigint")))
    table = input_rows(run, place, [*(name for name, _ in each.columns), each.time.column])
    if table is None:
        sql = each.select_sql(f"({run.input_sql(place)})", f"{each.micros_sql()} AS {time}")
        return selected(in_order(run), sql, schema)
    columns = [table[name] for name, _ in each.columns]
    times = table[each.time.column].cast(pa.int64())
    return fit(pa.table([*columns, times], names=list(schema.names)), arrow_schema(schema))


def in_order(run: Run) -> Run:
    """Return the run with each leaf in one piece: several files are scanned largest first."""
    schemas = {key(each): each.schema for each in run.unit.leaves}
    rows = {
        name: parts if len(parts) <= 1 else [in_memory(whole(parts, schemas[name]))]
        for name, parts in run.rows.items()
    }
    return replace(run, rows=rows)


def late_rows(
    schema: Schema, late: Sequence[pa.Table | None], hidden: Sequence[str]
) -> pa.Table | None:
    """Return the late tuples of all inputs as rows of the join without a partner."""
    found = [each.drop_columns(list(hidden)) for each in late if each is not None]
    if not found:
        return None
    wanted = arrow_schema(schema)
    return fit(laid_together([wanted.empty_table(), *found]), wanted)
