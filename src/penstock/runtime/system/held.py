"""What streams, queries and events hold now: for one-time SELECTs, and for rules that ask."""

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.engine.spark.once import Relation, Stored
from penstock.engine.trains.rows import Rows, empty_table, in_memory
from penstock.errors import BadQueryError, UnknownNameError
from penstock.plan.operators import key
from penstock.runtime.names.directory import KnownEvent, KnownQuery, KnownStream, watching
from penstock.runtime.sources.archive import covers

if TYPE_CHECKING:
    from penstock.runtime.system.system import System


def relation_of(system: "System", name: str, reading: ExitStack) -> "Relation | None":
    """Return what a stream, a query or an event holds, or None where the name is of none.

    Files of an archive stay until `reading` ends.
    """
    match system.directory.get(name):
        case KnownStream() as stream:
            return _kept(system, stream, reading)
        case KnownQuery() as query:
            return _results(system, query)
        case KnownEvent() as event:
            refuse_unkept(system, event)
            return _results(system, watching(event))
        case _:
            return None


def rows_held(system: "System", name: str, reading: ExitStack) -> list[Rows]:
    """Return the same as rows that a unit can read; files for them alone go when it ends."""
    match relation_of(system, name, reading):
        case Stored(_, count, files, rest):
            made = [Rows(count, None, files, owned=False), in_memory(rest)]
        case pa.Table() as table:
            made = [in_memory(table)]
        case _:
            raise UnknownNameError(f"no stream, query or event {name}")
    for each in made:
        reading.callback(each.delete)
    return made


def refuse_unkept(system: "System", event: KnownEvent) -> None:
    """Raise where nobody keeps an event's detections."""
    name = event.definition.name
    entry = system.catalog.get(name)
    if entry is None or entry.state is None:
        raise BadQueryError(
            f"nobody keeps the detections of event {name}",
            hint=f"subscribe to it, or CREATE QUERY … AS SELECT * FROM {name}",
        )


def _kept(system: "System", known: KnownStream, reading: ExitStack) -> Relation:
    """Return what a stream's archive and buffer hold, each train once."""
    scan = known.scan
    buffer = system.topology.buffers.open(key(scan), known.definition.schema)
    archive = system.topology.archives.get(key(scan))
    if archive is None:
        return buffer.to_table()
    with system.topology.buffers.lock:  # no train leaves the buffer between the two looks
        pieces = reading.enter_context(archive.reading())
        rest = buffer.to_table(without=lambda number: covers(pieces, number))
    files = tuple(piece.path for piece in pieces)
    return Stored(scan.schema, sum(piece.rows for piece in pieces), files, rest)


def _results(system: "System", known: KnownQuery) -> pa.Table:
    live = system.topology.queries.get(known.definition.name.lower())
    log = live.log if live is not None else system.result_log(known.definition.name)
    kept = log.table()
    return kept if kept is not None else empty_table(known.root.schema)
