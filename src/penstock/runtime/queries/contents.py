"""The contents of streams, queries and events now: for one-time SELECTs, and for rules that ask."""

from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa

from penstock.catalog import Catalog
from penstock.engine.spark.jobs.once import Relation, Stored
from penstock.engine.trains.rows import Rows, empty_table, in_memory
from penstock.errors import BadQueryError, UnknownNameError
from penstock.plan.operators import key
from penstock.runtime.durable.results import ResultLogs
from penstock.runtime.names.directory import (
    Directory,
    KnownEvent,
    KnownQuery,
    KnownStream,
    watching,
)
from penstock.runtime.sources.archive import covers
from penstock.runtime.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class Contents:
    """Reads what is there by a name."""

    directory: Directory
    catalog: Catalog
    topology: Topology
    logs: ResultLogs

    def relation(self, name: str, reading: ExitStack) -> "Relation | None":
        """Return what a stream, a query or an event holds, or None where the name is of none.

        Files of an archive stay until `reading` ends.
        """
        match self.directory.get(name):
            case KnownStream() as stream:
                return self._kept(stream, reading)
            case KnownQuery() as query:
                return self._results(query)
            case KnownEvent() as event:
                self.refuse_unkept(event)
                return self._results(watching(event))
            case _:
                return None

    def rows(self, name: str, reading: ExitStack) -> list[Rows]:
        """Return the same as rows that a unit can read; files for them alone go when it ends."""
        match self.relation(name, reading):
            case Stored(_, count, files, rest):
                made = [Rows(count, None, files, owned=False), in_memory(rest)]
            case pa.Table() as table:
                made = [in_memory(table)]
            case _:
                raise UnknownNameError(f"no stream, query or event {name}")
        for each in made:
            reading.callback(each.delete)
        return made

    def refuse_unkept(self, event: KnownEvent) -> None:
        """Raise where nobody keeps an event's detections."""
        name = event.definition.name
        entry = self.catalog.get(name)
        if entry is None or entry.state is None:
            raise BadQueryError(
                f"nobody keeps the detections of event {name}",
                hint=f"subscribe to it, or CREATE QUERY … AS SELECT * FROM {name}",
            )

    def _kept(self, known: KnownStream, reading: ExitStack) -> Relation:
        """Return what a stream's archive and buffer hold, each train once."""
        scan, buffers = known.scan, self.topology.buffers
        buffer = buffers.open(key(scan), known.definition.schema)
        archive = self.topology.archives.get(key(scan))
        if archive is None:
            return buffer.to_table()
        with buffers.lock:  # no train leaves the buffer between the two looks
            pieces = reading.enter_context(archive.reading())
            rest = buffer.to_table(without=lambda number: covers(pieces, number))
        files = tuple(piece.path for piece in pieces)
        return Stored(scan.schema, sum(piece.rows for piece in pieces), files, rest)

    def _results(self, known: KnownQuery) -> pa.Table:
        live = self.topology.queries.get(known.definition.name.lower())
        log = live.log if live is not None else self.logs.of(known.definition.name)
        kept = log.table()
        return kept if kept is not None else empty_table(known.root.schema)
