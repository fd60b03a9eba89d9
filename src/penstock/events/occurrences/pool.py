"""Occurrences of several parts in the order in which they come to one operator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from penstock.events.occurrences.batch import Batch, Ints, Mask, coder, joined, key_count

Twins = Mapping[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Pool:
    """Rows by key, then order; `part` and `place` say where each stands among the parts."""

    key: Ints
    start: Ints
    end: Ints
    seq: Ints
    mark: Ints
    part: Ints
    place: Ints
    new: Mask

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self.key)

    def of_part(self, part: int) -> Ints:
        """Return where a part's rows stand."""
        return np.flatnonzero(self.part == part)

    def twins(self) -> Twins:
        """Return, for each place whose row stands at others too, these: one row in several roles.

        A row is known by its key, end and sequence number; what it completed has those, too.
        """
        if len(np.unique(self.seq)) == len(self):
            return {}
        of_row: dict[tuple[int, int, int], list[int]] = {}
        columns = (self.key.tolist(), self.end.tolist(), self.seq.tolist())
        for place, row in enumerate(zip(*columns, strict=True)):
            of_row.setdefault(row, []).append(place)
        return {place: places for places in of_row.values() if len(places) > 1 for place in places}

    def key_begins(self) -> Ints:
        """Return, for each row, where its key's rows begin."""
        return np.searchsorted(self.key, self.key)


def pooled(
    held: Sequence[Batch], new: Sequence[Batch], ranks: Sequence[int] | None = None
) -> tuple[Pool, list[Batch]]:
    """Return held and new occurrences as a pool, and each part's batch, held ones first.

    At one end, parts with a lower rank come first; without ranks the sequence decides, and then
    the part.
    """
    parts = [joined(pair) for pair in zip(held, new, strict=True)]
    columns = [
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("key", "start", "end", "seq", "mark")
    ]
    part = np.repeat(np.arange(len(parts)), [len(each) for each in parts])
    place = np.concatenate([np.arange(len(each)) for each in parts])
    fresh = np.concatenate(
        [np.arange(len(both)) >= len(old) for both, old in zip(parts, held, strict=True)]
    )
    key, end, seq = columns[0], columns[2], columns[3]
    code = coder(key_count(*parts), end)(key, end)
    order = (
        np.lexsort((part, seq, code))
        if ranks is None
        else np.lexsort((seq, np.array(ranks)[part], code))
    )
    return Pool(*(each[order] for each in (*columns, part, place, fresh))), parts
