"""All that a detector holds between two steps, and how it is kept small."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from penstock.events.detection.graph import EventGraph
from penstock.events.occurrences.bags import Bags
from penstock.events.occurrences.batch import NONE, Batch, Ints
from penstock.events.occurrences.event_input import Inlet, WaitingOccurrences
from penstock.events.occurrences.keys import KeySpace
from penstock.events.operators.operator import ConstituentSlot, HeldOccurrences

PATIENCE = 65_536  # rows that may gather before a look at which ones nothing refers to

Spaces = Mapping[str, KeySpace | None]


@dataclass(frozen=True, slots=True)
class DetectorState:
    """A detector's state.

    Ticks before `until` have been given; `latest` is the last end of any occurrence; rows are
    numbered from `next_id` on. `settled` rows, bags and keys were left after the last look.
    """

    watermark: int
    until: int
    latest: int
    next_id: int
    waiting: Mapping[str, WaitingOccurrences]
    held: Mapping[str, HeldOccurrences]
    bags: Bags
    settled: int = 0


def slots_held(graph: EventGraph, whole: DetectorState) -> Iterator[tuple[ConstituentSlot, Ints]]:
    """Yield every column of references that operators hold."""
    for name, held in whole.held.items():
        for part, batch in zip(graph.nodes[name].parts, held.parts, strict=False):
            for place in range(batch.refs.shape[1]):
                yield graph.nodes[part].slots[place], batch.refs[:, place]


def lightened(
    whole: DetectorState, graph: EventGraph, spaces: Spaces, inlets: Mapping[str, Inlet]
) -> DetectorState:
    """Drop rows and bags that nothing refers to, and unused keys."""
    known = {id(space): space for space in spaces.values() if space is not None}
    size = sum(len(each.rows.ids) for each in whole.waiting.values()) + len(whole.bags.ids)
    size += sum(len(space.known) for space in known.values())
    if size <= 2 * whole.settled + PATIENCE:
        return whole
    whole = compact(trimmed(whole, graph), graph)
    for space in known.values():
        whole = _rekeyed(whole, space, spaces, inlets)
    rows = sum(len(each.rows.ids) for each in whole.waiting.values())
    keys = sum(len(space.known) for space in known.values())
    return replace(whole, settled=rows + len(whole.bags.ids) + keys)


def trimmed(whole: DetectorState, graph: EventGraph) -> DetectorState:
    """Return the state without occurrences that can take part in nothing any more."""
    held = dict(whole.held)
    for name, each in held.items():
        operator = graph.nodes[name].operator
        if operator is not None:
            held[name] = operator.trim(each, whole.watermark)
    return replace(whole, held=held)


def compact(whole: DetectorState, graph: EventGraph) -> DetectorState:
    """Return the state with the rows and bags that something refers to."""
    bag_ids = [np.empty(0, np.int64)]
    row_ids = {name: [each.batch.refs[:, 0]] for name, each in whole.waiting.items()}
    for slot, refs in slots_held(graph, whole):
        if slot.plural:
            bag_ids.append(refs)
        if slot.source:
            inside = whole.bags.contents(refs)[1] if slot.plural else refs
            row_ids[slot.source].append(inside)
    waiting = {
        name: WaitingOccurrences(each.batch, each.rows.only(np.concatenate(row_ids[name])))
        for name, each in whole.waiting.items()
    }
    return replace(whole, waiting=waiting, bags=whole.bags.only(np.concatenate(bag_ids)))


def _rekeyed(
    whole: DetectorState, space: KeySpace, spaces: Spaces, inlets: Mapping[str, Inlet]
) -> DetectorState:
    """Number the keys of one space anew, without those that nothing has any more."""
    used = np.zeros(len(space.known), np.bool_)
    for keys in _keys(whole, space, spaces, inlets):
        used[keys[keys >= 0]] = True
    number = np.cumsum(used) - 1
    alive = used.tolist()
    space.known = {
        value: at
        for at, value in enumerate(
            value for value, used_ in zip(space.known, alive, strict=True) if used_
        )
    }

    def again(keys: Ints) -> Ints:
        return np.where(keys >= 0, number[keys], keys) if len(number) else keys

    held = dict(whole.held)
    for name, each in held.items():
        if spaces[name] is space:
            parts = tuple(replace(part, key=again(part.key)) for part in each.parts)
            held[name] = replace(each, parts=parts)
    waiting = dict(whole.waiting)
    for name, inlet in inlets.items():
        refs = waiting[name].batch.refs.copy()
        for place, each_space in enumerate(inlet.spaces, start=1):
            if each_space is space:
                refs[:, place] = again(refs[:, place])
        batch = replace(waiting[name].batch, refs=refs)
        waiting[name] = replace(waiting[name], batch=batch)
    return replace(whole, held=held, waiting=waiting)


def _keys(
    whole: DetectorState, space: KeySpace, spaces: Spaces, inlets: Mapping[str, Inlet]
) -> Iterator[Ints]:
    for name, held in whole.held.items():
        if spaces[name] is space:
            yield from (part.key for part in held.parts)
    for name, inlet in inlets.items():
        for place, each in enumerate(inlet.spaces, start=1):
            if each is space:
                yield whole.waiting[name].batch.refs[:, place]


def shifted(batch: Batch, slots: tuple[ConstituentSlot, ...], rows: int, bags: int) -> Batch:
    """Return occurrences whose rows and bags have numbers that are higher by so much."""
    refs = batch.refs.copy()
    for place, slot in zip(range(refs.shape[1]), slots, strict=False):
        shift = bags if slot.plural else rows if slot.source else 0
        refs[:, place] = np.where(refs[:, place] == NONE, NONE, refs[:, place] + shift)
    return replace(batch, refs=refs)
