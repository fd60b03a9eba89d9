"""Streams as they are made, opened, taken away and brought back; while quiesced."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from penstock.catalog import CatalogEntry
from penstock.clock import Clock
from penstock.engine.allowed import Allowed
from penstock.engine.connectors import sources
from penstock.engine.interfaces.interface import Interface, Surroundings, Telling
from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.spark.analysis import SparkAnalyst, check_types
from penstock.engine.spark.application.session import Sessions
from penstock.engine.trains.buffers import KEEP_TRAINS
from penstock.errors import BadQueryError
from penstock.model.definitions import StreamDefinition
from penstock.plan.operators import EventTime, Scan, key
from penstock.plan.shedding.shed_by import bind_worth
from penstock.runtime.definitions.definition_binder import at_shed_by
from penstock.runtime.definitions.kind import NOBODY, Enter, Newcomers
from penstock.runtime.durable.home import Home
from penstock.runtime.durable.manifest import Manifest
from penstock.runtime.durable.push_keys import PushKeys
from penstock.runtime.names.directory import Directory, KnownStream
from penstock.runtime.queries.sink_places import SinkPlaces
from penstock.runtime.sources.archive import Archive
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology.topology import Topology
from penstock.sql import CreateStream


@dataclass(frozen=True, slots=True)
class SourceMaker:
    """Makes the interfaces of streams; `wake` is called when tuples have come."""

    sessions: Sessions
    clock: Clock
    allowed: Callable[[], Allowed]
    wake: Callable[[], None]

    def make(self, definition: StreamDefinition, own: Path) -> Interface:
        """Return a stream's interface, with a directory of its own."""
        around = Surroundings(self.sessions.large, self.clock, own, self.allowed)
        made = sources.build(definition, around)
        if isinstance(made, Telling):
            made.on_arrival = self.wake
        return made


@dataclass(frozen=True, slots=True)
class Streams:
    """Puts source readers into the topology, and takes them out."""

    directory: Directory
    topology: Topology
    home: Home
    sources: SourceMaker
    places: SinkPlaces
    analyst: SparkAnalyst
    warn: Callable[[str], None]
    keys: PushKeys

    def prepared(self, statement: CreateStream) -> Enter:
        """Raise what is wrong with a stream; return what makes it."""
        definition = statement.definition
        sources.check(definition.as_read)
        self.places.refuse_source(definition)
        check_types(definition.schema)
        if definition.shed_by:
            with at_shed_by(statement):
                bind_worth(definition.shed_by, definition.name, definition.schema, self.analyst)

        def enter(entry: CatalogEntry) -> str:
            self._define(definition, entry.incarnation).open()
            return f"stream {definition.name} created"

        return enter

    def bring_back(self, statement: CreateStream, entry: CatalogEntry, _: Manifest) -> Newcomers:
        """Make a stream known again; it is opened with the state of its source reader."""
        self._define(statement.definition, entry.incarnation)
        return NOBODY

    def forget(self, known: KnownStream) -> None:
        """Close a stream without readers, and forget its trains."""
        topology, name = self.topology, file_of(known.scan)
        source_reader = topology.source_readers.pop(key(known.scan))
        source_reader.interface.close()
        topology.buffers.drop(source_reader.key)
        topology.gone_streams.add(source_reader.key)
        self.keys.forget_stream(source_reader.key)
        if (archive := topology.archives.pop(source_reader.key, None)) is not None:
            archive.remove()
        for directory in (self.home.stream(name), self.home.rejects(name)):
            shutil.rmtree(directory, ignore_errors=True)

    def push_source(self, name: str) -> Push:
        """Return the source of a push stream."""
        return self.keyed_source(name)[1]

    def keyed_source(self, name: str) -> tuple[str, Push]:
        """Return the key and the source of a push stream."""
        source_reader = self.topology.source_readers[key(self.directory.stream(name).scan)]
        if not isinstance(source_reader.interface, Push):
            raise BadQueryError(f"stream {name} takes no pushed rows", hint="define it FROM push()")
        return source_reader.key, source_reader.interface

    def _define(self, definition: StreamDefinition, incarnation: int) -> SourceReader:
        """Make a stream known, with a source reader that is not open yet."""
        scan = scan_of(definition, incarnation)
        name, topology = file_of(scan), self.topology
        interface = self.sources.make(definition.as_read, self.home.stream(name))
        source_reader = SourceReader(scan, definition, interface, self.home.rejects(name))
        if isinstance(interface, Push):
            interface.on_open = partial(self.keys.settle, source_reader.key)
        self.directory.add(KnownStream(definition, scan))
        topology.source_readers[source_reader.key] = source_reader
        buffer = topology.buffers.open(source_reader.key, definition.schema, keep=KEEP_TRAINS)
        if definition.archive_for is not None:
            archive = Archive(source_reader.key, definition, self.home.archive(name))
            topology.archives[source_reader.key] = archive
            if archive.damaged:
                self.warn(f"stream {definition.name}: {archive.trouble}")
            buffer.register(archive.reader)
        return source_reader


def scan_of(definition: StreamDefinition, incarnation: int) -> Scan:
    """Return the stream as the graph has it."""
    time = definition.time_column
    column = definition.schema.find(time) if time else None
    times = (EventTime(column.name),) if column else ()
    return Scan(definition.name, incarnation, definition.schema, times, definition.ordered_by)


def file_of(scan: Scan) -> str:
    """Return the name of a stream's files; a stream made anew under its name gets others."""
    return f"{scan.stream.lower()}.{scan.incarnation}"
