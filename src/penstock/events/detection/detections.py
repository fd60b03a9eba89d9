"""Detections as Arrow: numbers turned into the rows that they stand for, at the very end."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.events.occurrences.bags import Bags
from penstock.events.occurrences.batch import NONE, Batch, Ints
from penstock.events.occurrences.event_input import END, ORDER, START
from penstock.events.occurrences.keys import KeySpace
from penstock.events.occurrences.parameters import Parameters
from penstock.model.event_forms import TICK, DetectedConstituent


def detections(
    found: Batch,
    places: Sequence[DetectedConstituent],
    rows: Mapping[str, Parameters],
    bags: Bags,
    space: KeySpace | None,
) -> pa.Table:
    """Return the detections with the columns of all constituents that have a label."""
    found = in_one_order(found, space)
    columns: dict[str, pa.Array] = {
        START: pa.array(found.start),
        END: pa.array(found.end),
        ORDER: pa.array(found.seq),
    }
    for place, each in enumerate(places):
        if each.label:
            refs = found.refs[:, place]
            columns |= _columns(each, refs, rows, bags)
    return pa.table(columns)


def in_one_order(found: Batch, space: KeySpace | None) -> Batch:
    """Return the detections so that simultaneous ones stand in the order of their keys' values."""
    if space is None or len(found) < 2:  # noqa: PLR2004 - nothing to order
        return found
    tied = (np.diff(found.end) == 0) & (np.diff(found.seq) == 0)
    if not (tied & (np.diff(found.key) != 0)).any():
        return found
    keys, place = np.unique(found.key, return_inverse=True)
    values = pa.table({str(at): each for at, each in enumerate(space.values(keys))})
    order = pc.sort_indices(values, [(name, "ascending") for name in values.column_names])
    rank = np.empty(len(keys), np.int64)
    rank[order.to_numpy()] = np.arange(len(keys))
    return found.take(np.lexsort((rank[place], found.seq, found.end)))


def _columns(
    each: DetectedConstituent, refs: Ints, rows: Mapping[str, Parameters], bags: Bags
) -> dict[str, pa.Array]:
    if not each.plural:
        return {f"{each.label}.{name}": column for name, column in _taken(each, refs, rows)}
    offsets, inside = bags.contents(refs)
    cuts = pa.array(offsets.astype(np.int32))
    return {
        f"{each.label}.{name}": pa.ListArray.from_arrays(cuts, column)
        for name, column in _taken(each, inside, rows)
    }


def _taken(
    each: DetectedConstituent, refs: Ints, rows: Mapping[str, Parameters]
) -> list[tuple[str, pa.Array]]:
    if not each.primitive:
        return [(TICK, pa.array(refs, mask=refs == NONE))]
    table = rows[each.primitive].take(refs)
    return [(name, _whole(table.column(name))) for name in table.column_names]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    made = column.combine_chunks()
    return pa.concat_arrays(made.chunks) if isinstance(made, pa.ChunkedArray) else made
