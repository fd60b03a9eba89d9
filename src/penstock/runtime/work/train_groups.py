"""Which trains a run takes together."""

import sys
from collections.abc import Mapping, Sequence

from penstock.engine.trains.buffers import Train
from penstock.runtime.durable.journal import Ranges

Group = dict[str, list[Train]]


def coalesced(trains: Sequence[Train], rows: int, size: int = sys.maxsize) -> list[Train]:
    """Return the first trains that together stay within so many rows and bytes, at least one.

    A punctuation comes alone: what it says holds after all that came before it.
    """
    taken: list[Train] = []
    for train in trains:
        if train.info.punctuation:
            return taken or [train]
        rows -= train.rows.count
        size -= train.info.size
        if taken and (rows < 0 or size < 0):
            break
        taken.append(train)
    return taken


def recorded(waiting: Mapping[str, Sequence[Train]], ranges: Ranges) -> Group | None:
    """Return the trains of a recorded run, or None while they are not all there."""
    found: Group = {}
    for name, (first, last) in ranges.items():
        trains = [t for t in waiting.get(name, ()) if first <= t.info.number <= last]
        if len(trains) != last - first + 1:
            return None
        found[name] = trains
    return found


def ranges_of(group: Mapping[str, Sequence[Train]]) -> dict[str, tuple[int, int]]:
    """Return what the journal keeps of a group."""
    return {
        name: (trains[0].info.number, trains[-1].info.number)
        for name, trains in group.items()
        if trains
    }
