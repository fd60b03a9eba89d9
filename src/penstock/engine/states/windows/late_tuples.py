"""Tuples that came too late: behind windows that have closed, or of groups that had ended.

A group ends when a punctuation says that no more tuples of it come.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engine.states.state import Run
from penstock.engine.states.windows.progress import Span
from penstock.engine.states.windows.section_rows import asked_for
from penstock.engine.trains.rows import Rows, fit, in_memory
from penstock.engine.trains.types import arrow_schema
from penstock.model.own_names import INPUT, own
from penstock.model.trains import BEGIN_OF_TIME
from penstock.plan.operators.bundles.member import Member
from penstock.plan.operators.windows.window_aggregate import PANE, WindowAggregate
from penstock.plan.sharing.predicate_index import PredicateIndex

AT = own("section_at")


@dataclass(frozen=True, slots=True)
class Ended:
    """Groups that have ended: as the state has them, and as the input has.

    Remembered until the last window that was open then has closed.
    """

    held: str
    given: str
    until: int


def partials_where(run: Run, condition: str, parts: Sequence[Rows]) -> pa.Table:
    """Return the partials that fulfil a condition."""
    view = run.view("groups")
    return run.select(f"SELECT * FROM {view} WHERE {condition}", {view: (parts, None)})


def without_strays(run: Run, ended: Sequence[Ended], partials: pa.Table) -> pa.Table:
    """Return the partials without those of groups that had ended."""
    held = " OR ".join(f"coalesce({each.held}, false)" for each in ended)
    return partials_where(run, f"NOT ({held})", [in_memory(partials)])


def strays_of(
    run: Run, aggregate: WindowAggregate, ended: Sequence[Ended], late: Span | None
) -> pa.Table:
    """Return the tuples of groups that had ended, but for those that are `late` already."""
    given = " OR ".join(f"coalesce({each.given}, false)" for each in ended)
    since, before = late or (0, 0)
    since = max(since, BEGIN_OF_TIME + 1)  # a literal that Spark can read
    at = aggregate.micros()
    counted = f"({at} >= {since}L AND {at} < {before}L)"
    sql = f"SELECT * FROM ({run.input_sql()}) WHERE ({given}) AND NOT {counted}"
    return run.select(sql, run.leaves(), aggregate.input.schema, single=False)


def late_spans(partials: pa.Table, spans: Collection[Span]) -> set[Span]:
    """Return the spans of places in which there are tuples.

    Partials show it, since a span ends where panes do; the tuples themselves, which cost a job,
    are asked for only where there are any.
    """
    panes = partials[PANE]
    earliest = pc.min(panes).as_py()
    if earliest is None:
        return set()
    near = (span for span in spans if earliest < span[1])  # of many members, most often none
    return {span for span in near if _holds(panes, span)}


def _holds(panes: pa.ChunkedArray, span: Span) -> bool:
    inside = pc.and_(pc.greater_equal(panes, span[0]), pc.less(panes, span[1]))
    return bool(pc.any(inside, min_count=0).as_py())


def late_tuples(
    run: Run, at: str, predicate_index: PredicateIndex, late: Sequence[tuple[Member, Span]]
) -> dict[str, pa.Table]:
    """Return the tuples of each member, by its root, in the span of places that are late for it."""
    before = max(span[1] for _, span in late)
    tuples = predicate_index.sql(f"({run.input_sql()})")
    sql = f"SELECT *, {at} AS {AT} FROM {tuples} AS {INPUT} WHERE {at} < {before}L"
    rows = run.select(sql, run.leaves(), single=False)
    places = np.asarray(rows[AT].to_numpy())
    found: dict[str, pa.Table] = {}
    for member, (since, until) in late:
        mask = asked_for(rows, predicate_index, member.asked) & (places >= since) & (places < until)
        if mask.any():
            schema = arrow_schema(member.base.schema)
            found[member.key] = fit(rows.filter(pa.array(mask)), schema)
    return found
