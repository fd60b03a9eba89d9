"""Which trains a run takes together."""

from collections.abc import Mapping, Sequence

from penstock.engine.buffers import Train
from penstock.runtime.journal import Ranges

Group = dict[str, list[Train]]


def coalesced(trains: Sequence[Train], limit: int) -> list[Train]:
    """Return the first trains that together stay within `limit` rows, at least one."""
    taken: list[Train] = []
    rows = 0
    for train in trains:
        if taken and rows + train.rows.count > limit:
            break
        taken.append(train)
        rows += train.rows.count
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
