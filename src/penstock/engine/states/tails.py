"""From the partials of selections and windows to the rows of every member."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from penstock.engine.rows import fit, in_memory
from penstock.engine.states.bundle_closing import Closed
from penstock.engine.states.sorting import sorted_rows
from penstock.engine.states.state import Run
from penstock.engine.types import arrow_schema
from penstock.model.schema import Column, Schema
from penstock.plan.bundles.layout import NUMBER
from penstock.plan.bundles.member import Asking, Member
from penstock.plan.bundles.tails import ENDS, MEMBER, STARTS, Shape, Tail, constant
from penstock.plan.bundles.told import SELECTION

FAR_BACK = -(2**62)


def finished(
    run: Run,
    closed: Closed,
    firsts: Mapping[str, int | None],
    tails: Mapping[str, Tail],
) -> dict[str, pa.Table]:
    """Return each member's rows, by its root, those of one shape computed together.

    `firsts` are the first windows that members answer for.
    """
    selections, members = closed.members, [m for each in closed.members for m in each]
    places = {member.key: place for place, member in enumerate(members)}
    rows, whose = _spread(closed.table, [[places[m.key] for m in each] for each in selections])
    numbers = closed.table[NUMBER].to_numpy()[rows]
    begins = np.array([_first(firsts[member.key]) for member in members], dtype=np.int64)
    answers = numbers >= begins[whose]
    rows, whose, numbers = rows[answers], whose[answers], numbers[answers]
    owners = [place for place, each in enumerate(selections) for _ in each]
    sizes = np.array([closed.windows[place].end for place in owners], dtype=np.int64)
    slides = np.array([closed.windows[place].lower for place in owners], dtype=np.int64)
    starts = numbers * slides[whose]
    partials = closed.table.drop_columns([SELECTION, NUMBER])
    found: dict[str, pa.Table] = {}
    for shape, of_shape in _by_shape(members, tails).items():
        mine = np.isin(whose, list(of_shape))
        if not mine.any():
            continue
        table = partials.take(pa.array(rows[mine]))
        table = table.append_column(MEMBER, pa.array(whose[mine]))
        table = table.append_column(STARTS, pa.array(starts[mine]))
        table = table.append_column(ENDS, pa.array(starts[mine] + sizes[whose[mine]]))
        table = with_constants(table, members, tails, shape.types)
        view = run.view("tail")
        result = run.select(shape.sql(view), {view: ([in_memory(table)], None)})
        found |= _handed_out(result, members)
    return found


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
