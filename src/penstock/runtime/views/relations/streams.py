"""`system.streams`: every stream, what came of it and what is held."""

from penstock.plan.operators import key
from penstock.runtime.names.directory import Directory, KnownStream
from penstock.runtime.sources.feed import Feed
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import Row, View, columns, first_line, shown_time


def stream_rows(directory: Directory, topology: Topology, now: float) -> list[Row]:
    """Return a row for every stream."""
    return [_row(known, topology, now) for known in directory.streams()]


def _row(known: KnownStream, topology: Topology, now: float) -> Row:
    feed = topology.feeds[key(known.scan)]
    figures = topology.buffers.open(feed.key, known.definition.schema).figures()
    archive = topology.archives.get(feed.key)
    return {
        "stream": known.definition.name,
        "source": known.definition.source.name,
        "state": _state(feed),
        "trains": feed.number,
        "rows": feed.rows,
        "rows_per_s": round(feed.meter.rate(now), 1),
        "rejected": feed.rejected,
        "queued_rows": figures.rows,
        "memory_bytes": figures.memory_bytes,
        "disk_bytes": figures.disk_bytes,
        "watermark": shown_time(feed.watermark),
        "archived_rows": archive.rows if archive is not None else 0,
        "archived_bytes": archive.size if archive is not None else 0,
        "history_from": topology.history_from(known.scan),
        "cause": first_line(feed.cause or (archive.trouble if archive is not None else "")),
    }


def _state(feed: Feed) -> str:
    return "FAILED" if feed.cause else "ENDED" if feed.ended else "IDLE" if feed.idle else "OPEN"


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
