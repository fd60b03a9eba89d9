"""Streams and tables as they are made and taken away; while quiesced."""

import shutil
from typing import TYPE_CHECKING

from penstock.engine import interfaces
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.pushed.push import Push
from penstock.engine.spark.analysis import check_types
from penstock.engine.trains.buffers import KEEP_TRAINS
from penstock.model.definitions import StreamDefinition
from penstock.plan.operators import EventTime, Scan, key
from penstock.plan.shedding.shed_by import bind_worth
from penstock.runtime.names.directory import KnownStream, KnownTable
from penstock.runtime.sources.archive import Archive
from penstock.runtime.sources.feed import Feed
from penstock.runtime.sources.table_versions import Reading
from penstock.runtime.system.binding import at_shed_by
from penstock.runtime.system.sink_places import refuse_source
from penstock.sql import CreateStream, CreateTable

if TYPE_CHECKING:
    from penstock.runtime.system.system import System


def define_stream(system: "System", definition: StreamDefinition, incarnation: int) -> Feed:
    """Make a stream known, with a feed that is not open yet."""
    scan = scan_of(definition, incarnation)
    spark, own = system.sessions.large, system.home.stream(file_of(scan))
    around = Surroundings(spark, system.clock, own, system.allowed)
    interface = interfaces.build(definition, around)
    if isinstance(interface, Push):
        interface.on_arrival = system.pool.wake
    feed = Feed(scan, definition, interface, system.home.rejects(file_of(scan)))
    system.directory.add(KnownStream(definition, scan))
    system.topology.feeds[feed.key] = feed
    buffer = system.topology.buffers.open(feed.key, definition.schema, keep=KEEP_TRAINS)
    if definition.archive_for is not None:
        archive = Archive(feed.key, definition, system.home.archive(file_of(scan)))
        system.topology.archives[feed.key] = archive
        if archive.damaged:
            system.warn(f"stream {definition.name}: {archive.trouble}")
        buffer.register(archive.reader)
    return feed


def scan_of(definition: StreamDefinition, incarnation: int) -> Scan:
    """Return the stream as the graph has it."""
    time = definition.time_column
    column = definition.schema.find(time) if time else None
    times = (EventTime(column.name),) if column else ()
    return Scan(definition.name, incarnation, definition.schema, times)


def check_stream(system: "System", statement: CreateStream) -> None:
    """Raise what is wrong with a stream's definition."""
    definition = statement.definition
    interfaces.check(definition)
    refuse_source(system, definition)
    check_types(definition.schema)
    if definition.shed_by:
        with at_shed_by(statement):
            bind_worth(definition.shed_by, definition.name, definition.schema, system.analyst)


def define_table(
    system: "System", statement: CreateTable, incarnation: int, reading: Reading
) -> None:
    """Make a table of rows that were read, and make it known."""
    schema = system.tables.create(statement.definition, incarnation, reading)
    system.directory.add(KnownTable(statement.definition, incarnation, schema))


def remove_feed(system: "System", scan: Scan) -> None:
    """Close a stream that nobody reads, and forget its trains."""
    feed = system.topology.feeds.pop(key(scan))
    feed.interface.close()
    system.topology.buffers.drop(feed.key)
    system.topology.gone_streams.add(feed.key)
    if (archive := system.topology.archives.pop(feed.key, None)) is not None:
        archive.remove()
    for directory in (system.home.stream(file_of(scan)), system.home.rejects(file_of(scan))):
        shutil.rmtree(directory, ignore_errors=True)


def file_of(scan: Scan) -> str:
    """Return the name of a stream's files; a stream made anew under its name gets others."""
    return f"{scan.stream.lower()}.{scan.incarnation}"
