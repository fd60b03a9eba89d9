"""Answers: the rows of a SELECT over a few rows, by Arrow (`plan/arrow/read_select.py`).

A plan for a train of a few rows costs Spark tens of milliseconds, on a cold Java some hundred; here
it is one or two.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.arrow.grouping import grouped
from penstock.engine.arrow.kernels import KERNELS, TYPED, TYPES, Datum, UnlikeSparkError
from penstock.plan.arrow.numbers import without_numbers
from penstock.plan.arrow.read_select import read_select
from penstock.plan.arrow.relations import (
    Append,
    Field,
    Group,
    Match,
    Pick,
    Relation,
    Shape,
    Spread,
    View,
)
from penstock.plan.arrow.values import Call, Const, Param, Ref, Value

MOST_ROWS = 1_000_000  # that a join or a spread may give; above it, it is Spark's
NAMES = {type_: name for name, type_ in TYPES.items()}
Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Frame:
    """Columns of equal length, and what is known of them."""

    columns: tuple[pa.Array, ...]
    fields: tuple[pa.Field, ...]
    count: int

    def taken(self, rows: pa.Array) -> "Frame":
        """Return these rows; a NULL among them is a row of NULLs."""
        return Frame(tuple(each.take(rows) for each in self.columns), self.fields, len(rows))


def is_answered(sql: str, schemas: Mapping[str, pa.Schema]) -> bool:
    """Say whether a SELECT over views with these columns can be answered, if its rows allow it."""
    return _read(sql, schemas)[0] is not None


def answer(sql: str, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    """Return the rows of a SELECT over views, or None where Arrow would not say what Spark does."""
    relation, numbers = _read(sql, {view: table.schema for view, table in tables.items()})
    if relation is None:
        return None
    try:
        frame = _Answering(tables, numbers).frame(relation)
    except (UnlikeSparkError, RecursionError, pa.ArrowException):
        return None
    named = zip(frame.fields, relation.fields, strict=True)
    schema = pa.schema([field.with_name(name) for field, (name, _) in named])
    return pa.Table.from_arrays(list(frame.columns), schema=schema)


def _read(sql: str, schemas: Mapping[str, pa.Schema]) -> tuple[Relation | None, Sequence[int]]:
    """Return the steps of a SELECT, and its numbers."""
    text, numbers = without_numbers(sql)
    views = tuple((view, fields_of(schema)) for view, schema in schemas.items())
    return read_select(text, views), numbers


@functools.lru_cache(maxsize=4096)
def fields_of(schema: pa.Schema) -> tuple[Field, ...]:
    """Return the names and types of columns; a type of which Arrow is asked nothing by its text."""
    return tuple((field.name, NAMES.get(field.type, f"?{field.type}")) for field in schema)


@dataclass(frozen=True, slots=True)
class _Answering:
    """One SELECT: its views, and its numbers."""

    tables: Mapping[str, pa.Table]
    numbers: Sequence[int]

    def frame(self, relation: Relation) -> Frame:
        match relation:
            case View():
                return self._view(relation)
            case Pick():
                return self._picked(relation)
            case Shape():
                return self._shaped(self.frame(relation.input), relation.values)
            case Spread():
                return self._spread(relation)
            case Group():
                return self._grouped(relation)
            case Match():
                return self._matched(relation)
            case Append():
                return self._appended(relation)

    def _view(self, view: View) -> Frame:
        table = self.tables[view.name].combine_chunks()
        columns = tuple(_array(table, place) for place in range(table.num_columns))
        return Frame(columns, tuple(table.schema), table.num_rows)

    def _picked(self, pick: Pick) -> Frame:
        frame = self.frame(pick.input)
        mask = self._column(pick.condition, frame)
        columns = tuple(each.filter(mask) for each in frame.columns)
        return Frame(columns, frame.fields, pc.sum(mask).as_py() or 0)

    def _shaped(self, frame: Frame, values: Sequence[Value]) -> Frame:
        columns = tuple(self._column(each, frame) for each in values)
        pairs = zip(columns, values, strict=True)
        fields = tuple(_field(column, value, frame) for column, value in pairs)
        return Frame(columns, fields, frame.count)

    def _spread(self, spread: Spread) -> Frame:
        frame = self.frame(spread.input)
        first, last = (self._numbers(each, frame) for each in (spread.first, spread.last))
        counts = np.maximum(last - first + 1, 0)
        _require_few(int(counts.sum()))
        rows = np.repeat(np.arange(frame.count), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        wide, number = frame.taken(pa.array(rows)), pa.array(np.repeat(first, counts) + within)
        field = pa.field("", pa.int64())
        return Frame((*wide.columns, number), (*wide.fields, field), wide.count)

    def _numbers(self, value: Value, frame: Frame) -> Ints:
        column = self._column(value, frame)
        if column.null_count:
            raise UnlikeSparkError
        return np.asarray(column.to_numpy(), dtype=np.int64)

    def _grouped(self, group: Group) -> Frame:
        if not group.keys:  # one row even of none; doubles summed in another order
            raise UnlikeSparkError
        frame = self.frame(group.input)
        keys = [str(place) for place in range(len(group.keys))]
        columns = dict(zip(keys, (self._column(each, frame) for each in group.keys), strict=True))
        asked = []
        for place, total in enumerate(group.totals, start=len(keys)):
            name = None if total.value is None else f"of {place}"
            if name is not None and total.value is not None:
                columns[name] = self._column(total.value, frame)
            asked.append((str(place), total.function, name))
        table = grouped(pa.table(columns), keys, asked)
        if table is None:
            raise UnlikeSparkError
        table = table.combine_chunks()
        found = tuple(_array(table, at) for at in range(table.num_columns))
        return Frame(found, tuple(table.schema), table.num_rows)

    def _matched(self, match: Match) -> Frame:
        left, right = self.frame(match.left), self.frame(match.right)
        ours, theirs = _codes(left, right, match.keys)
        rows, places = _pairs(ours, theirs)
        met = np.zeros(left.count, dtype=bool)
        met[rows] = True
        if match.kind in ("LEFT SEMI", "LEFT ANTI"):
            return left.taken(pa.array(np.flatnonzero(met == (match.kind == "LEFT SEMI"))))
        others = np.flatnonzero(~met) if match.kind == "LEFT" else rows[:0]
        order = np.argsort(np.concatenate([rows, others]), kind="stable")
        chosen = np.concatenate([rows, others])[order]
        found = np.concatenate([places, np.full(len(others), -1)])[order]
        one = left.taken(pa.array(chosen))
        other = right.taken(pa.array(found, mask=found < 0))
        return Frame((*one.columns, *other.columns), (*one.fields, *other.fields), one.count)

    def _appended(self, append: Append) -> Frame:
        frames = [self.frame(each) for each in append.inputs]
        columns = tuple(
            pa.concat_arrays(each)
            for each in zip(*(frame.columns for frame in frames), strict=True)
        )
        return Frame(columns, _nullable(frames), sum(each.count for each in frames))

    def _column(self, value: Value, frame: Frame) -> pa.Array:
        found = self._value(value, frame)
        if isinstance(found, pa.Scalar):
            found = pa.repeat(found, frame.count)
        if (known := TYPES.get(value.type)) is not None and found.type != known:
            raise UnlikeSparkError
        return found

    def _value(self, value: Value, frame: Frame) -> Datum:
        match value:
            case Ref(place):
                return frame.columns[place]
            case Const(constant, type_):
                if type_ not in TYPES:  # a decimal that met no double
                    raise UnlikeSparkError
                return pa.scalar(constant, TYPES[type_])
            case Param(place):
                return pa.scalar(self.numbers[place], pa.int64())
            case Call(name, args, type_):
                values = [self._value(each, frame) for each in args]
                if (typed := TYPED.get(name)) is not None:
                    return typed(*values, TYPES[type_])
                return KERNELS[name](*values)


def _array(table: pa.Table, place: int) -> pa.Array:
    column = table.column(place)
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _field(column: pa.Array, value: Value, frame: Frame) -> pa.Field:
    """Return a column's field; what is passed on keeps what it says of itself, as vectors do."""
    return frame.fields[value.place] if isinstance(value, Ref) else pa.field("", column.type)


def _nullable(frames: Sequence[Frame]) -> tuple[pa.Field, ...]:
    return tuple(
        each[0].with_nullable(any(field.nullable for field in each))
        for each in zip(*(frame.fields for frame in frames), strict=True)
    )


def _codes(left: Frame, right: Frame, keys: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
    """Return a number for what the keys of each row are; below zero where one is NULL."""
    codes = np.zeros(left.count + right.count, dtype=np.int64)
    known = np.ones(len(codes), dtype=bool)
    for one, other in keys:
        both = pa.concat_arrays(_alike(left.columns[one], right.columns[other]))
        found = pc.fill_null(both.dictionary_encode().indices, 0).to_numpy().astype(np.int64)
        _, codes = np.unique(codes * len(codes) + found, return_inverse=True)
        known &= both.is_valid().to_numpy(zero_copy_only=False)
    codes = np.where(known, codes, -1)
    return codes[: left.count], codes[left.count :]


def _alike(one: pa.Array, other: pa.Array) -> list[pa.Array]:
    if one.type == other.type:
        return [one, other]
    return [one.cast(pa.int64()), other.cast(pa.int64())]


def _pairs(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return the places of equal codes, in the order of the left side."""
    order = np.argsort(right, kind="stable")
    first, end = (np.searchsorted(right[order], left, side) for side in ("left", "right"))
    counts = np.where(left < 0, 0, end - first)
    _require_few(int(counts.sum()))
    rows = np.repeat(np.arange(len(left)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, order[np.repeat(first, counts) + within]


def _require_few(rows: int) -> None:
    if rows > MOST_ROWS:
        raise UnlikeSparkError
