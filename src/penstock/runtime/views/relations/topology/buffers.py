"""`system.buffers` and `system.trains`: where tuples are held, and those that wait there."""

from collections.abc import Iterator

from penstock.engine.trains.buffers import Buffer, BufferPool, Train
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.relations.topology.units import short
from penstock.runtime.views.view import Row, View, columns, shown_time


def buffer_rows(topology: Topology) -> Iterator[Row]:
    """Yield a row for every buffer: of a stream, or of what a unit or a bundle's member gives."""
    for buffer in topology.buffers:
        figures = buffer.figures()
        yield {
            "buffer": short(buffer.key),
            "stream": _stream(buffer, topology),
            "unit": _unit(buffer, topology),
            "trains": figures.trains,
            "rows": figures.rows,
            "memory_bytes": figures.memory_bytes,
            "disk_bytes": figures.disk_bytes,
            "spilled_bytes": figures.spilled_bytes,
            "last_train": buffer.written,
            "readers": len(buffer.readers()),
            "behind": len(buffer.behind()),
            "watermark": shown_time(buffer.watermark),
        }


def train_rows(buffers: BufferPool) -> Iterator[Row]:
    """Yield a row for every train that somebody must still read, the oldest of a buffer first."""
    for buffer in buffers.waited_for():
        with buffers.lock:  # so that no train goes, or goes to disk, while it is looked at
            yield from [_train(buffer, train) for train in buffer.unread()]


def _train(buffer: Buffer, train: Train) -> Row:
    return {
        "buffer": short(buffer.key),
        "number": train.info.number,
        "rows": train.rows.count,
        "bytes": train.info.size,
        "arrived": round(train.info.arrived * 1e6),
        "watermark": shown_time(train.info.watermark),
        "place": "memory" if train.rows.table is not None else "disk",
    }


def _stream(buffer: Buffer, topology: Topology) -> str | None:
    source_reader = topology.source_readers.get(buffer.key)
    return None if source_reader is None else source_reader.definition.name


def _unit(buffer: Buffer, topology: Topology) -> str | None:
    writer = topology.writers.get(buffer.key)
    return None if writer is None else short(writer.unit.key)


BUFFERS = View(
    "buffers",
    "buffers of streams and of units, and what is held in them",
    columns(
        "buffer STRING, stream STRING, unit STRING, trains BIGINT, rows BIGINT, "
        "memory_bytes BIGINT, disk_bytes BIGINT, spilled_bytes BIGINT, last_train BIGINT, "
        "readers BIGINT, behind BIGINT, watermark TIMESTAMP"
    ),
    lambda of: buffer_rows(of.topology),
)
TRAINS = View(
    "trains",
    "trains that wait in buffers until all have read them",
    columns(
        "buffer STRING, number BIGINT, rows BIGINT, bytes BIGINT, arrived TIMESTAMP, "
        "watermark TIMESTAMP, place STRING"
    ),
    lambda of: train_rows(of.topology.buffers),
)
