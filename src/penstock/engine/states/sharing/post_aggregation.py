"""From the partials of selections and windows to the rows of every member."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.states.state import Run
from penstock.engine.states.windows.closing import Closed
from penstock.engine.states.windows.sample_scaling import weighed
from penstock.engine.trains.rows import fit, in_memory, laid_together
from penstock.engine.trains.sort_order import sorted_rows
from penstock.engine.trains.types import arrow_schema
from penstock.model.own_names import own
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.operators.bundles.member import Asking, Member
from penstock.plan.operators.windows.window_aggregate import END, START
from penstock.plan.sharing.layout import NUMBER
from penstock.plan.sharing.post_aggregation import (
    ENDS,
    MEMBER,
    STARTS,
    PostAggregation,
    Shape,
    constant,
)
from penstock.plan.sharing.predicate_index import SELECTION

FAR_BACK = -(2**62)
NAME = own("a[0-9a-f]{12}")
PARTIAL = re.compile(rf"\b{NAME}_\d+")
MEAN = re.compile(rf"CAST\(({NAME}_0) / nullif\(({NAME}_1), 0\) AS double\)")
ROW = own("row")


@dataclass(frozen=True, slots=True)
class MemberAnswer:
    """Rows of windows, each for one member: where its partials are, and which window it is."""

    table: pa.Table
    rows: np.ndarray
    whose: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def finished(
    run: Run,
    closed: Sequence[Closed],
    members: Sequence[Member],
    post_aggregations: Mapping[str, PostAggregation],
) -> dict[str, pa.Table]:
    """Return each member's rows, by its root, those of one shape computed together.

    Where a post-aggregation merely shows keys, bounds and aggregates, these are finished once for
    everybody.
    """
    places = {member.key: place for place, member in enumerate(members)}
    shapes = _by_shape(members, post_aggregations)
    values = _values(shape for shape in shapes if _is_shown(shape))
    answers = [_answer(each, places) for each in closed]
    valued = [replace(each, table=_valued(run, each.table, values)) for each in answers]
    found: dict[str, pa.Table] = {}
    for shape, of_shape in shapes.items():
        if _is_shown(shape):
            tables = [_picked(each, shape, of_shape) for each in valued]
        else:
            tables = [_of_shape(each, list(shape.needs), of_shape) for each in answers]
        tables = [table for table in tables if table is not None]
        if not tables:
            continue
        table = laid_together(tables)
        if shape.scaling is not None:
            table = _weighed(run, table, shape)
        if shape.scaling is not None and shape.picks is not None:
            table = _pick(table, shape, {name: name for name, _ in shape.reads})
        elif shape.picks is None:
            table = with_constants(table, members, post_aggregations, shape.types)
            view = run.view("tail")
            table = run.select(shape.sql(view), {view: ([in_memory(table)], None)})
        found |= handed_out(table, [(place, members[place]) for place in of_shape])
    return found


def _is_shown(shape: Shape) -> bool:
    """Say whether its rows merely show what others may ask for, too."""
    return shape.picks is not None and shape.scaling is None


def _weighed(run: Run, table: pa.Table, shape: Shape) -> pa.Table:
    """Return what rows over samples tell of all tuples, in the driver or by Spark."""
    assert shape.scaling is not None  # noqa: S101
    windows = (MEMBER, STARTS, ENDS)
    if (found := weighed(table, shape.scaling, windows)) is not None:
        return found
    view = run.view("weighed")
    return run.select(shape.scaling.sql(view, windows), {view: ([in_memory(table)], None)})


def _values(shapes: Iterable[Shape]) -> dict[str, str]:
    """Return what has to be finished for these shapes: SQL over partials, by a name for it."""
    found = {sql for shape in shapes for name, sql in shape.reads if name not in (START, END)}
    return {_value(sql): sql for sql in sorted(found)}


def _value(sql: str) -> str:
    return own(f"v{hashlib.sha256(sql.encode()).hexdigest()[:12]}")


def _valued(run: Run, table: pa.Table, values: Mapping[str, str]) -> pa.Table:
    """Return the partials with the values that they have the columns for."""
    columns = {quoted(name): name for name in table.column_names}
    columns |= {name: name for name in table.column_names}
    plain = {name: table[columns[sql]] for name, sql in values.items() if sql in columns}
    plain |= {name: mean for name, sql in values.items() if (mean := _mean(table, sql)) is not None}
    rest = {n: sql for n, sql in values.items() if n not in plain and _has(table, sql)}
    if rest:
        view = run.view("values")
        numbered = table.append_column(ROW, pa.array(np.arange(table.num_rows)))
        sql = f"SELECT {', '.join([ROW, *(f'{sql} AS {name}' for name, sql in rest.items())])}"
        result = run.select(f"{sql} FROM {view}", {view: ([in_memory(numbered)], None)})
        order = pa.array(np.argsort(result[ROW].to_numpy(), kind="stable"))
        plain |= {name: result[name].take(order) for name in rest}
    for name, column in plain.items():
        table = table.append_column(name, column)
    return table


def _mean(table: pa.Table, sql: str) -> pa.ChunkedArray | None:
    """Return a mean of doubles, which Arrow divides as Spark does; None of anything else."""
    read = MEAN.fullmatch(sql)
    if read is None or not {*read.groups()} <= set(table.column_names):
        return None
    total, count = (table[name] for name in read.groups())
    if not pa.types.is_float64(total.type):
        return None
    return pc.divide(total, pc.if_else(pc.equal(count, 0), None, count).cast(pa.float64()))


def _has(table: pa.Table, sql: str) -> bool:
    """Say whether the table has the partials that an aggregate is finished from."""
    partials = set(PARTIAL.findall(sql))
    return bool(partials) and partials <= set(table.column_names)


def _picked(answer: MemberAnswer, shape: Shape, members: Sequence[int]) -> pa.Table | None:
    """Return the rows of a shape that only shows what is there."""
    reads = {name: _value(sql) for name, sql in shape.reads if name not in (START, END)}
    table = _of_shape(
        answer, [n for n in reads.values() if n in answer.table.column_names], members
    )
    if table is None:
        return None
    return _pick(table, shape, reads)


def _pick(table: pa.Table, shape: Shape, reads: Mapping[str, str]) -> pa.Table:
    """Return the columns that a shape shows, of a table that has what it reads by these names."""
    reads = {**reads, START: STARTS, END: ENDS}
    columns = {name: table[reads[read]] for name, read in (shape.picks or {}).items()}
    moments = pa.timestamp("us", "UTC")
    for name, read in (shape.picks or {}).items():
        if read in (START, END):
            columns[name] = columns[name].cast(moments)
    return pa.table([*columns.values(), table[MEMBER]], names=[*columns, MEMBER])


def _answer(closed: Closed, places: Mapping[str, int]) -> MemberAnswer:
    """Return the rows of each member, from the first window on that it answers for."""
    table, selections = closed.table, closed.members
    rows, whose = _spread(table, [[places[m.key] for m in each] for each in selections])
    numbers = table[NUMBER].to_numpy()[rows]
    begins = np.full(len(places), FAR_BACK, dtype=np.int64)
    slides, sizes = np.zeros_like(begins), np.zeros_like(begins)
    for members, assigner in zip(selections, closed.windows, strict=True):
        mine = [places[member.key] for member in members]
        slides[mine], sizes[mine] = assigner.lower, assigner.end
        begins[mine] = [_first(closed.firsts[member.key]) for member in members]
    counts = numbers >= begins[whose]
    rows, whose, numbers = rows[counts], whose[counts], numbers[counts]
    starts = numbers * slides[whose]
    return MemberAnswer(table, rows, whose, starts, starts + sizes[whose])


def _of_shape(answer: MemberAnswer, names: list[str], members: Sequence[int]) -> pa.Table | None:
    """Return some columns of the rows of some members, with whose they are and their bounds."""
    mine = np.isin(answer.whose, members)
    if not mine.any():
        return None
    table = answer.table.select(names).take(pa.array(answer.rows[mine]))
    table = table.append_column(MEMBER, pa.array(answer.whose[mine]))
    table = table.append_column(STARTS, pa.array(answer.starts[mine]))
    return table.append_column(ENDS, pa.array(answer.ends[mine]))


def _spread(closed: pa.Table, members: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return which row goes to which member, each pair once."""
    selections = closed[SELECTION].to_numpy()
    sizes = np.array([len(each) for each in members], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    flat = np.array([member for each in members for member in each], dtype=np.int64)
    counts = sizes[selections]
    rows = np.repeat(np.arange(len(selections)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, flat[starts[selections][rows] + within]


def _by_shape(
    members: Sequence[Member], post_aggregations: Mapping[str, PostAggregation]
) -> dict[Shape, list[int]]:
    found: dict[Shape, list[int]] = {}
    for place, member in enumerate(members):
        found.setdefault(post_aggregations[member.key].shape, []).append(place)
    return found


def shaped(
    run: Run,
    table: pa.Table,
    members: Sequence[Asking],
    post_aggregations: Mapping[str, PostAggregation],
    shape: Shape,
) -> pa.Table:
    """Return what members of one shape make of rows that are marked with whose they are."""
    if (picks := shape.picks) is not None:
        columns = [table[name] for name in picks.values()]
        return pa.table([*columns, table[MEMBER]], names=[*picks, MEMBER])
    table = with_constants(table, members, post_aggregations, shape.types)
    view = run.view("tail")
    return run.select(shape.sql(view), {view: ([in_memory(table)], None)}, single=False)


def with_constants(
    table: pa.Table,
    members: Sequence[Asking],
    post_aggregations: Mapping[str, PostAggregation],
    types: Sequence[str],
) -> pa.Table:
    """Return the rows, all of one shape, with the constants of the members they belong to."""
    owners, whose = np.unique(table[MEMBER].to_numpy(), return_inverse=True)
    for place, type_ in enumerate(types):
        # The type is the one that Spark gives the literal.
        arrow = arrow_schema(Schema((Column("c", type_),))).field(0).type
        values = [post_aggregations[members[owner].key].constants[place] for owner in owners]
        table = table.append_column(constant(place), pa.array(values, arrow).take(pa.array(whose)))
    return table


def handed_out(table: pa.Table, members: Sequence[tuple[int, Asking]]) -> dict[str, pa.Table]:
    """Return the rows of each member of one shape, in an order that a replay gives again."""
    times = [time.column for time in members[0][1].root.times]
    table = sorted_rows(table, [MEMBER, *times])
    owners = table[MEMBER].to_numpy()
    whole = fit(table.drop_columns([MEMBER]), arrow_schema(members[0][1].root.schema))
    found: dict[str, pa.Table] = {}
    for place, member in members:
        start, end = np.searchsorted(owners, (place, place + 1))
        if end > start:
            found[member.key] = whole.slice(start, end - start)
    return found


def _first(number: int | None) -> int:
    return FAR_BACK if number is None else number
