"""`system.streams`: every stream, what came of it and what is held."""

from penstock.plan.operators import key
from penstock.runtime.names.directory import Directory, KnownStream
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import Row, View, columns, first_line, shown_time


def stream_rows(directory: Directory, topology: Topology, now: float) -> list[Row]:
    """Return a row for every stream."""
    return [_row(known, topology, now) for known in directory.streams()]


def _row(known: KnownStream, topology: Topology, now: float) -> Row:
    source_reader = topology.source_readers[key(known.scan)]
    figures = topology.buffers.open(source_reader.key, known.definition.schema).figures()
    archive = topology.archives.get(source_reader.key)
    return {
        "stream": known.definition.name,
        "source": known.definition.source.name,
        "state": _state(source_reader),
        "trains": source_reader.number,
        "rows": source_reader.rows,
        "rows_per_s": round(source_reader.meter.rate(now), 1),
        "rejected": source_reader.rejected,
        "queued_rows": figures.rows,
        "memory_bytes": figures.memory_bytes,
        "disk_bytes": figures.disk_bytes,
        "watermark": shown_time(source_reader.watermark),
        "archived_rows": archive.rows if archive is not None else 0,
        "archived_bytes": archive.size if archive is not None else 0,
        "history_from": topology.history_from(known.scan),
        "cause": first_line(
            source_reader.cause or (archive.trouble if archive is not None else "")
        ),
    }


def _state(source_reader: SourceReader) -> str:
    return (
        "FAILED"
        if source_reader.cause
        else "ENDED"
        if source_reader.ended
        else "IDLE"
        if source_reader.idle
        else "OPEN"
    )


STREAMS = View(
    "streams",
    "streams, what came of them and what is held",
    columns(
        "stream STRING, source STRING, state STRING, trains BIGINT, rows BIGINT, "
        "rows_per_s DOUBLE, rejected BIGINT, queued_rows BIGINT, memory_bytes BIGINT, "
        "disk_bytes BIGINT, watermark TIMESTAMP, archived_rows BIGINT, archived_bytes BIGINT, "
        "history_from TIMESTAMP, cause STRING"
    ),
    lambda of: stream_rows(of.directory, of.topology, of.clock.now()),
)
