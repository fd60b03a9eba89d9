"""What came of streams, what waits in their buffers, and how far their watermarks have come."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.metrics_core import Metric

from penstock.engine.trains.buffers import BufferFigures
from penstock.runtime.sources.archive import Archive
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.view import shown_time
from penstock.server.metrics.figure import Counter, Figure, Gauge, families

LABELS = ("stream",)
MICRO = 1e6


@dataclass(frozen=True, slots=True)
class SeenStream:
    """A stream as it stands at a moment."""

    reader: SourceReader
    now: float

    @property
    def watermark(self) -> float | None:
        """Return the watermark in seconds since 1970; None before the first row and at the end."""
        mark = shown_time(self.reader.watermark)
        return None if mark is None else mark / MICRO

    @property
    def lag(self) -> float | None:
        """Return how far the watermark is behind the clock."""
        return None if self.watermark is None else self.now - self.watermark


STREAM_FIGURES: Sequence[Figure[SeenStream]] = (
    Counter("penstock_stream_rows", "Rows that came of a stream.", lambda s: s.reader.rows),
    Counter(
        "penstock_stream_trains", "Trains that a stream's rows came in.", lambda s: s.reader.number
    ),
    Counter(
        "penstock_stream_rejected_rows",
        "Rows of a stream that did not fit its columns.",
        lambda s: s.reader.rejected,
    ),
    Gauge(
        "penstock_stream_up",
        "0 while a stream's source cannot be read, else 1.",
        lambda s: float(not s.reader.cause),
    ),
    Gauge(
        "penstock_stream_watermark_timestamp_seconds",
        "The event time up to which a stream is complete.",
        lambda s: s.watermark,
    ),
    Gauge(
        "penstock_stream_watermark_lag_seconds",
        "How far a stream's watermark is behind the clock.",
        lambda s: s.lag,
    ),
)
BUFFER_FIGURES: Sequence[Figure[BufferFigures]] = (
    Gauge(
        "penstock_stream_queued_rows",
        "Rows of a stream that somebody has still to read.",
        lambda b: b.rows,
    ),
    Gauge(
        "penstock_stream_buffer_memory_bytes",
        "Bytes that a stream's buffer holds in memory.",
        lambda b: b.memory_bytes,
    ),
    Gauge(
        "penstock_stream_buffer_disk_bytes",
        "Bytes that a stream's buffer holds on disk.",
        lambda b: b.disk_bytes,
    ),
)
ARCHIVE_FIGURES: Sequence[Figure[Archive]] = (
    Gauge(
        "penstock_stream_archived_rows",
        "Rows of a stream that its archive keeps.",
        lambda a: a.rows,
    ),
    Gauge(
        "penstock_stream_archive_bytes",
        "Bytes that a stream's archive takes on disk.",
        lambda a: a.size,
    ),
)


def stream_metrics(topology: Topology, now: float) -> Iterator[Metric]:
    """Yield the metrics of all streams, their buffers and archives."""
    readers = list(topology.source_readers.values())
    buffers, archives = topology.buffers, topology.archives
    yield from families(STREAM_FIGURES, LABELS, [(_of(r), SeenStream(r, now)) for r in readers])
    held = [(_of(r), b.figures()) for r in readers if (b := buffers.get(r.key)) is not None]
    yield from families(BUFFER_FIGURES, LABELS, held)
    kept = [(_of(r), a) for r in readers if (a := archives.get(r.key)) is not None]
    yield from families(ARCHIVE_FIGURES, LABELS, kept)


def _of(reader: SourceReader) -> tuple[str]:
    return (reader.definition.name,)
