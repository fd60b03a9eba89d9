"""Whether so many rows share a key that a join should bring them together by time, too.

A hash join compares every two rows of a key. Where they can meet only near each other in time, and
the run spans much more, most of that is for nothing; but with many keys it is less work than to
put rows into time buckets. Rows are the same either way (decision 0045).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.engine.states.joins.kept_rows import KeptRows, whole
from penstock.engine.states.parts import Part
from penstock.engine.trains.rows import Rows
from penstock.engine.trains.types import arrow_schema
from penstock.model.schema import Schema
from penstock.plan.algebra.clauses import equal_columns

# Measured (decision 0045): a million pairs take as long as what a plan with buckets has to do more,
# and ten pairs as long as to put one row into its buckets.
LEAST_PAIRS = 1_000_000
PAIRS_A_ROW = 10
LEAST_BUCKETS = 4  # with fewer, most pairs of a key are compared all the same
SAMPLE = 10_000

Play = Mapping[str, Sequence[Rows]]


@dataclass(frozen=True, slots=True)
class Meeting:
    """How the first two inputs of a join meet: `on`, in which `names` stand for them, and `reach`.

    Where rows are `decided` upon, old ones are looked up among old ones, too.
    """

    on: str
    names: tuple[str, str]
    reach: int
    decided: bool = False


def are_crowded(kept: KeptRows, new: Sequence[Part | None], play: Play, meeting: Meeting) -> bool:
    """Say whether the rows in play are to meet by time, too."""
    parts = [*kept.parts, *(part for part in new if part is not None)]
    if not meeting.reach or not parts:
        return False
    span = max(part.last for part in parts) - min(part.first for part in parts)
    rows, pairs = _work(kept.names, play, meeting)
    if not pairs or pairs < LEAST_PAIRS or span < LEAST_BUCKETS * meeting.reach:
        return False
    compared = pairs * share_of_equals(kept, play, meeting)
    return compared >= max(LEAST_PAIRS, PAIRS_A_ROW * rows)


def _work(names: Sequence[str], play: Play, meeting: Meeting) -> tuple[int, int]:
    """Return how many rows there are, and how many pairs they make if all have one key."""
    new, old = (
        [sum(rows.count for rows in play[f"{age}_{name}"]) for name in names[:2]]
        for age in ("new", "old")
    )
    left, right = new[0] + old[0], new[1] + old[1]
    return left + right, left * right - (0 if meeting.decided else old[0] * old[1])


def share_of_equals(kept: KeptRows, play: Play, meeting: Meeting) -> float:
    """Return how likely two rows have equal keys, by a sample of the largest part.

    Keys that are computed, or that Arrow does not group, count as if they were always equal.
    """
    pairs = list(equal_columns(meeting.on, meeting.names, null_safe=True))
    parts = [
        (rows, place)
        for age in ("new", "old")
        for place in (0, 1)
        for rows in play[f"{age}_{kept.names[place]}"]
    ]
    rows, place = max(parts, key=lambda each: each[0].count)
    wanted = {pair[place] for pair in pairs}
    keys = Schema(tuple(c for c in kept.sides[place].schema if c.name in wanted))
    plain = [field.name for field in arrow_schema(keys) if not pa.types.is_nested(field.type)]
    if not plain:
        return 1.0
    return _equals(whole([rows], keys).select(plain))


def _equals(keys: pa.Table) -> float:
    """Return the share of pairs of rows that are equal; the same rows are drawn each time."""
    if keys.num_rows > SAMPLE:
        drawn = np.random.default_rng(0).integers(0, keys.num_rows, SAMPLE)
        keys = keys.take(pa.array(drawn))
    grouped = keys.group_by(keys.column_names).aggregate([([], "count_all")])
    counts = grouped["count_all"].to_numpy().astype(np.float64)
    total = float(keys.num_rows)
    return float((counts * (counts - 1)).sum()) / max(total * (total - 1), 1.0)
