"""Counting on: a stream's tuples are counted whatever units they come through."""

from collections.abc import Iterable, Mapping

from penstock.plan.operators import Scan, key
from penstock.runtime.live_unit import LiveUnit


def go_on_counting(units: Iterable[LiveUnit], old: Mapping[str, LiveUnit]) -> None:
    """Let units that were cut otherwise go on with the count of their streams' tuples.

    One inside an old unit goes on with that one's, and so does one that swallows an old unit.
    """
    readers = [live for live in old.values() if _reads_streams(live)]
    inside = {key(node): live.rows_in for live in readers for node in live.unit.members()}
    now = list(units)
    names = {live.unit.key for live in now}
    gone = {live.unit.key: live.rows_in for live in readers if live.unit.key not in names}
    for live in now:
        if live is not old.get(live.unit.key) and _reads_streams(live):
            swallowed = (gone.get(key(node), 0) for node in live.unit.members())
            live.rows_in = max(live.rows_in, inside.get(live.unit.key, 0), *swallowed)


def _reads_streams(live: LiveUnit) -> bool:
    """Say whether a unit, and no bundle, reads what comes in."""
    return live.unit.bundle is None and any(isinstance(leaf, Scan) for leaf in live.unit.leaves)
