"""What a change has made anew, and what may stay in a checkpoint as the last one has it.

A checkpoint at a change need not write down all that runs: what the change does not touch can be
brought back from its last record, by doing again what the journal has of it since, as after any
death. What is new or cut otherwise has no such past, so its own record is as it stands; and so has
to be that of all that reads its trains, which nobody is going to give again:

    stream --> unit --> unit --> query      untouched: the last record, and runs done again
       '-----> bundle with a newcomer       anew: as it stands
                  '--> its queries          read from it: as they stand
"""

from dataclasses import dataclass

from penstock.plan.operators import key
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery

UNIT = "unit:"


@dataclass(frozen=True, slots=True)
class Added:
    """The units, buffers and queries, by their keys and lower names, that stand otherwise now."""

    units: frozenset[str]
    buffers: frozenset[str]
    queries: frozenset[str]
    readers: frozenset[str]


def added_to(topology: Topology, last: Manifest) -> Added:
    """Return what the last checkpoint does not have as it is, and all that reads it."""
    units = {name for name in topology.units if _is_new(topology, name, last)}
    buffers = _written_by(topology, units)
    while more := {name for name in topology.units if _reads(topology, name, buffers)} - units:
        units |= more
        buffers |= _written_by(topology, more)
    buffers |= {buffer.key for buffer in topology.buffers} - last.buffers.keys()
    queries = {
        name
        for name, query in topology.queries.items()
        if query.input in buffers or not _stands(query, name, last)
    }
    readers = {topology.units[name].reader for name in units}
    readers |= {topology.queries[name].reader for name in queries}
    return Added(*map(frozenset, (units, buffers, queries, readers)))


def only_adds(topology: Topology, last: Manifest, control: object) -> bool:
    """Say whether nothing has gone, stopped or been swapped since the last checkpoint.

    What these would need of older records is theirs to know; a whole checkpoint has it all.
    """
    versions = topology.tables.kept() if topology.tables is not None else {}
    return (
        not (topology.gone_streams or topology.suspended or topology.trigger_batches)
        and not (last.suspended or last.trigger_batches or topology.is_replaying())
        and all(reader.startswith(UNIT) for reader in topology.gone)
        and topology.source_readers.keys() == last.source_readers.keys()
        and topology.finished.keys() == last.finished.keys()
        and last.queries.keys() <= topology.queries.keys()
        and (versions, control) == (last.tables, last.control)
        and tuple(sorted(topology.unbundled)) == last.unbundled
    )


def _is_new(topology: Topology, name: str, last: Manifest) -> bool:
    kept = last.units.get(name)
    return kept is None or name in topology.recut or kept.members != topology.units[name].unit.lots


def _written_by(topology: Topology, units: set[str]) -> set[str]:
    return {key(root) for name in units for root in topology.units[name].unit.roots}


def _reads(topology: Topology, name: str, buffers: set[str]) -> bool:
    return not buffers.isdisjoint(topology.units[name].unit.inputs)


def _stands(query: LiveQuery, name: str, last: Manifest) -> bool:
    kept = last.queries.get(name)
    return kept is not None and (kept.root, kept.text) == (query.input, query.definition.text)
