"""Cuts: which units must stay units when the graph is cut anew."""

from collections.abc import Container

from penstock.runtime.topology.plant import Plant
from penstock.runtime.topology.standing import outlived
from penstock.runtime.work.live_unit import LiveUnit


def needed_cuts(plant: Plant) -> set[str]:
    """Return the units that cannot be made part of another, or of several, right now.

    Somebody has trains of theirs to read, they are held, they are a query's own answer, or they
    have come farther in a stream, or less far, than what they would be one with.
    """
    roots = plant.outputs
    readers = {live.reader for live in plant.units.values()}
    needed = {
        name
        for name, live in plant.units.items()
        if (name in roots or live.cause or live.replay or live.history or live.unit.bundle)
        or ((buffer := plant.buffers.get(name)) and not readers.isdisjoint(buffer.behind()))
    }
    for live in plant.units.values():
        needed |= _at_odds(plant, live, needed)
    needed = {name for name in needed if plant.units[name].unit.bundle is None}
    return needed | outlived(plant)


def _at_odds(plant: Plant, live: LiveUnit, needed: Container[str]) -> set[str]:
    """Return the units below one that stand elsewhere in what several of them read."""
    parts, found = [live], {live.unit.key}
    for part in parts:
        below = {name for name in part.unit.inputs if name not in needed} - found
        parts += [plant.units[name] for name in below if name in plant.units]
        found |= below
    places: dict[str, set[int | None]] = {}
    for part in parts:
        for name in part.unit.inputs:
            places.setdefault(name, set()).add(plant.place(part, name))
    odd = {name for name, stood in places.items() if len(stood) > 1}
    return {part.unit.key for part in parts[1:] if not odd.isdisjoint(part.unit.inputs)}
