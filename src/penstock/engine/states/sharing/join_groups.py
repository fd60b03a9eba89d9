"""Whether joins of a bundle run as one, or each over the rows that it wants.

One join compares all rows of a key that anybody wants, also two that nobody wants both of. Where
members want different tuples and keys have many rows, that is more work than a plan for each. Rows
are the same either way, and so is the decision when a run is done again (decision 0048).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engine.states.joins.crowded_keys import Meeting, share_of_equals
from penstock.engine.states.joins.kept_rows import KeptRows, whole
from penstock.engine.states.sharing.audiences import Audiences, Ints
from penstock.engine.trains.rows import Rows, in_memory
from penstock.model.schema import Schema
from penstock.plan.sharing.shared_join import SIDES, added, bit_of

# Measured (decision 0048): a join over few rows takes as long as it takes to compare so many pairs.
PAIRS_A_PLAN = 100_000

Counts = np.ndarray[Any, np.dtype[np.float64]]
Play = Mapping[str, Sequence[Rows]]


def groups_of(
    kept: KeptRows, play: Play, meeting: Meeting, audiences: Audiences
) -> list[tuple[str, ...]]:
    """Return the joins that run together: all of them, or each by itself."""
    one = [audiences.names]
    plans = PAIRS_A_PLAN * (len(audiences.names) - 1)
    totals = [float(sum(rows.count for rows in play[name])) for name in _relations()]
    together = _pairs(np.array(totals))
    if not plans or together <= plans:
        return one
    saved = together - _pairs(np.stack([_wanted(kept, play, n, audiences) for n in _relations()]))
    if saved <= plans or saved * share_of_equals(kept, play, meeting) <= plans:
        return one
    return [(name,) for name in audiences.names]


def of_one(views: Mapping[str, str], join: str) -> dict[str, str]:
    """Return the relations of a run with the rows that one join wants, and few others."""
    bits = {side: added(place)[1] for place, side in enumerate(SIDES)}
    return {
        name: f"(SELECT * FROM {view} WHERE ({bits[name[-1]]} & {bit_of(join)}L) <> 0)"
        for name, view in views.items()
    }


def split(kept: KeptRows, play: Play, audiences: Audiences) -> Iterator[dict[str, list[Rows]]]:
    """Yield the relations of a run with the rows that each join wants, read once for all."""
    tables = {n: whole(play[n], kept.sides[SIDES.index(n[-1])].schema) for n in _relations()}
    places = {
        name: audiences.places(_numbers(table, SIDES.index(name[-1])))
        for name, table in tables.items()
    }
    for join in audiences.names:
        wanted = audiences.having(join)
        some = {n: table.filter(pa.array(wanted[places[n]])) for n, table in tables.items()}
        found = {n: [in_memory(table)] if table.num_rows else [] for n, table in some.items()}
        yield found | {f"all_{s}": [*found[f"old_{s}"], *found[f"new_{s}"]] for s in SIDES}


def _relations() -> list[str]:
    return [f"{age}_{side}" for age in ("new", "old") for side in SIDES]


def _pairs(rows: Counts) -> float:
    """Return how many pairs a run makes of rows with one key: all but those of old ones.

    There may be several lots of rows, a column each.
    """
    new_left, new_right, old_left, old_right = rows
    return float(np.sum((new_left + old_left) * (new_right + old_right) - old_left * old_right))


def _wanted(kept: KeptRows, play: Play, name: str, audiences: Audiences) -> Counts:
    """Return how many rows of a relation each join wants."""
    places = audiences.places(audiences_of(kept, play[name], SIDES.index(name[-1])))
    counts = np.bincount(places, minlength=len(audiences.numbers))
    return np.asarray((counts[:, None] * audiences.wanted).sum(axis=0), dtype=np.float64)


def audiences_of(kept: KeptRows, rows: Sequence[Rows], place: int) -> Ints:
    """Return the numbers of the audiences of a side's rows."""
    schema = Schema(tuple(c for c in kept.sides[place].schema if c.name == added(place)[0]))
    return _numbers(whole(rows, schema), place)


def _numbers(table: pa.Table, place: int) -> Ints:
    return np.asarray(table[added(place)[0]].to_numpy(), dtype=np.int64)
