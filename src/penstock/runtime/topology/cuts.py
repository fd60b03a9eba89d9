"""Cuts: which units must stay units when the graph is cut anew."""

from collections.abc import Container

from penstock.runtime.topology.standing import outlived
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_unit import LiveUnit


def needed_cuts(topology: Topology) -> set[str]:
    """Return the units that cannot be made part of another, or of several, right now.

    Somebody has trains of theirs to read, they are held, they are a query's own answer, or they
    have come farther in a stream, or less far, than what they would be one with.
    """
    roots = topology.outputs
    readers = {live.reader for live in topology.units.values()}
    needed = {
        name
        for name, live in topology.units.items()
        if (name in roots or live.cause or live.replay or live.history or live.unit.bundle)
        or ((buffer := topology.buffers.get(name)) and not readers.isdisjoint(buffer.behind()))
    }
    for live in topology.units.values():
        needed |= _at_odds(topology, live, needed)
    needed = {name for name in needed if topology.units[name].unit.bundle is None}
    return needed | outlived(topology)


def _at_odds(topology: Topology, live: LiveUnit, needed: Container[str]) -> set[str]:
    """Return the units below one that stand elsewhere in what several of them read."""
    parts, found = [live], {live.unit.key}
    for part in parts:
        below = {name for name in part.unit.inputs if name not in needed} - found
        parts += [topology.units[name] for name in below if name in topology.units]
        found |= below
    places: dict[str, set[int | None]] = {}
    for part in parts:
        for name in part.unit.inputs:
            places.setdefault(name, set()).add(topology.place(part, name))
    odd = {name for name, stood in places.items() if len(stood) > 1}
    return {part.unit.key for part in parts[1:] if not odd.isdisjoint(part.unit.inputs)}
