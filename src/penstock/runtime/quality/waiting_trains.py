"""What waits on the way to queries: the trains that units and deliveries have not read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.engine.trains.buffers import BufferPool, Train
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery


@dataclass(frozen=True, slots=True)
class Waiting:
    """Tuples that wait, and their bytes."""

    rows: int = 0
    size: int = 0


Waits = Mapping[tuple[str, str], Waiting]  # by buffer and reader; those without trains are left out


def waits_in(buffers: BufferPool) -> Waits:
    """Return what waits in each buffer for each of its readers."""
    return {
        (buffer.key, reader): _sum_of(buffer.waiting(reader))
        for buffer in buffers.waited_for()
        for reader in buffer.behind()
    }


def waiting_for(query: LiveQuery, topology: Topology, waits: Waits) -> Waiting:
    """Return what waits for a query and for the units that it reads."""
    if not waits:
        return Waiting()
    writers = topology.writers  # as they are now: a cut puts others in their place
    readers = {writers[name].reader for name in query.nodes if name in writers}
    readers.add(query.reader)
    keys = ((name, reader) for name in query.nodes for reader in readers)
    found = [waits[each] for each in keys if each in waits]
    return Waiting(sum(each.rows for each in found), sum(each.size for each in found))


def _sum_of(trains: Sequence[Train]) -> Waiting:
    return Waiting(
        sum(train.rows.count for train in trains), sum(train.info.size for train in trains)
    )
