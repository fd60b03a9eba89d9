"""From the partials of selections and windows to the rows of every member."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.engine.rows import fit, in_memory, laid_together
from penstock.engine.states.closing import Closed
from penstock.engine.states.sorting import sorted_rows
from penstock.engine.states.state import Run
from penstock.engine.types import arrow_schema
from penstock.model.schema import Column, Schema
from penstock.plan.bundles.layout import NUMBER
from penstock.plan.bundles.member import Asking, Member
from penstock.plan.bundles.tails import ENDS, MEMBER, STARTS, Shape, Tail, constant
from penstock.plan.bundles.told import SELECTION

FAR_BACK = -(2**62)


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of windows, each for one member: where its partials are, and which window it is."""

    closed: Closed
    rows: np.ndarray
    whose: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def finished(
    run: Run, closed: Sequence[Closed], members: Sequence[Member], tails: Mapping[str, Tail]
) -> dict[str, pa.Table]:
    """Return each member's rows, by its root, those of one shape computed together."""
    places = {member.key: place for place, member in enumerate(members)}
    answers = [_answer(each, places) for each in closed]
    found: dict[str, pa.Table] = {}
    for shape, of_shape in _by_shape(members, tails).items():
        tables = [_of_shape(each, shape, of_shape) for each in answers]
        tables = [table for table in tables if table is not None and table.num_rows]
        if tables:
            table = with_constants(laid_together(tables), members, tails, shape.types)
            view = run.view("tail")
            result = run.select(shape.sql(view), {view: ([in_memory(table)], None)})
            found |= _handed_out(result, members)
    return found


def _answer(closed: Closed, places: Mapping[str, int]) -> Answer:
    """Return the rows of each member, from the first window on that it answers for."""
    table, selections = closed.table, closed.members
    rows, whose = _spread(table, [[places[m.key] for m in each] for each in selections])
    numbers = table[NUMBER].to_numpy()[rows]
    begins = np.full(len(places), FAR_BACK, dtype=np.int64)
    slides, sizes = np.zeros_like(begins), np.zeros_like(begins)
    for members, hops in zip(selections, closed.windows, strict=True):
        mine = [places[member.key] for member in members]
        slides[mine], sizes[mine] = hops.lower, hops.end
        begins[mine] = [_first(closed.firsts[member.key]) for member in members]
    counts = numbers >= begins[whose]
    rows, whose, numbers = rows[counts], whose[counts], numbers[counts]
    starts = numbers * slides[whose]
    return Answer(closed, rows, whose, starts, starts + sizes[whose])


def _of_shape(answer: Answer, shape: Shape, members: Sequence[int]) -> pa.Table | None:
    mine = np.isin(answer.whose, members)
    if not mine.any():
        return None
    table = answer.closed.table.select(list(shape.needs)).take(pa.array(answer.rows[mine]))
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


def _by_shape(members: Sequence[Member], tails: Mapping[str, Tail]) -> dict[Shape, list[int]]:
    found: dict[Shape, list[int]] = {}
    for place, member in enumerate(members):
        found.setdefault(tails[member.key].shape, []).append(place)
    return found


def with_constants(
    table: pa.Table, members: Sequence[Asking], tails: Mapping[str, Tail], types: Sequence[str]
) -> pa.Table:
    """Return the rows, all of one shape, with the constants of the members they belong to."""
    owners, whose = np.unique(table[MEMBER].to_numpy(), return_inverse=True)
    for place, type_ in enumerate(types):
        # The type is the one that Spark gives the literal.
        arrow = arrow_schema(Schema((Column("c", type_),))).field(0).type
        values = [tails[members[owner].key].constants[place] for owner in owners]
        table = table.append_column(constant(place), pa.array(values, arrow).take(pa.array(whose)))
    return table


def _handed_out(result: pa.Table, members: Sequence[Member]) -> dict[str, pa.Table]:
    """Return the rows of each member, in an order that a replay gives again."""
    if not result.num_rows:
        return {}
    numbers = result[MEMBER].to_numpy()
    order = np.argsort(numbers, kind="stable")
    result, numbers = result.take(pa.array(order)), numbers[order]
    owners, starts = np.unique(numbers, return_index=True)
    ends = [*starts[1:], len(numbers)]
    found: dict[str, pa.Table] = {}
    for owner, start, end in zip(owners, starts, ends, strict=True):
        member = members[owner]
        rows = result.slice(start, end - start).drop_columns([MEMBER])
        rows = fit(rows, arrow_schema(member.root.schema))
        found[member.key] = sorted_rows(rows, [time.column for time in member.root.times])
    return found


def _first(number: int | None) -> int:
    return FAR_BACK if number is None else number
