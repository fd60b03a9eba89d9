"""How long a join keeps each tuple, and what follows: its rows, its buffers, and the least ones.

Every way to join without a window comes down to a moment for each tuple until which it is there. A
row is made when the last of its tuples comes, if all others are still there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from penstock.experiments.thesis.joins.streams import KeyedStream, Times
from penstock.qos.joins.hindsight import Keys

Places = npt.NDArray[np.int64]
NEVER = np.inf


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Combinations of tuples with one key: which of each stream, and when the last one comes."""

    places: Sequence[Places]
    times: Times


def combinations(streams: Sequence[KeyedStream]) -> Iterator[Rows]:
    """Yield all rows of a join by the streams' keys, those of equal duplicates at once."""
    tables = [_by_key(each, max(int(s.keys.max(initial=0)) for s in streams)) for each in streams]
    for picked in product(*(range(table.shape[1]) for table in tables)):
        places = np.stack([table[:, at] for table, at in zip(tables, picked, strict=True)])
        places = places[:, (places >= 0).all(axis=0)]
        if not places.shape[1]:
            continue
        came = [each.times[at] for each, at in zip(streams, places, strict=True)]
        yield Rows(list(places), np.max(came, axis=0))


def accuracy(streams: Sequence[KeyedStream], until: Sequence[Times]) -> float:
    """Return which share of all rows are made (3.1)."""
    made = all_rows = 0
    for rows in combinations(streams):
        there = [each[at] >= rows.times for each, at in zip(until, rows.places, strict=True)]
        last = [s.times[at] == rows.times for s, at in zip(streams, rows.places, strict=True)]
        made += int(np.logical_and.reduce([a | b for a, b in zip(there, last, strict=True)]).sum())
        all_rows += len(rows.times)
    return made / all_rows if all_rows else 1.0


def joined(streams: Sequence[KeyedStream]) -> KeyedStream:
    """Return the rows of a complete join as a stream, with the first stream's other column."""
    found = list(combinations(streams))
    first = streams[0]
    times = np.concatenate([rows.times for rows in found] or [np.empty(0)])
    places = np.concatenate([rows.places[0] for rows in found] or [np.empty(0, dtype=np.int64)])
    order = np.argsort(times, kind="stable")
    at = places[order]
    return KeyedStream(first.keys[at], times[order], first.others[at])


def buffered(stream: KeyedStream, until: Times, when: Times) -> Keys:
    """Return how many tuples of a stream are there at some moments."""
    gone = np.sort(np.maximum(until, stream.times))
    return stream.came(when) - np.searchsorted(gone, when, side="right")


def least_buffers(streams: Sequence[KeyedStream], when: Times) -> list[Keys]:
    """Return how many of the newest tuples each row needed at most, in the time up to a moment.

    That is what the thesis calls optimal: found with hindsight, for buffers that keep the newest.
    """
    found = [np.zeros(len(when), dtype=np.int64) for _ in streams]
    for rows in combinations(streams):
        slot = np.minimum(np.searchsorted(when, rows.times), len(when) - 1)
        for place, stream in enumerate(streams):
            at = rows.places[place]
            waited = stream.times[at] < rows.times
            np.maximum.at(found[place], slot[waited], (stream.came(rows.times) - at)[waited])
    return found


def _by_key(stream: KeyedStream, most: int) -> Places:
    """Return, of each key, the places of its tuples; -1 where there are fewer."""
    counts = np.bincount(stream.keys, minlength=most + 1)
    order = np.argsort(stream.keys, kind="stable")
    begins = np.cumsum(counts) - counts
    table = np.full((most + 1, max(1, int(counts.max(initial=0)))), -1, dtype=np.int64)
    keys = stream.keys[order]
    table[keys, np.arange(len(order)) - begins[keys]] = order
    return table
