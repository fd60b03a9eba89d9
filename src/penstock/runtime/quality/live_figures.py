"""What a running system does at the moment, in a few numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.model.trains import BEGIN_OF_TIME, END_OF_TIME
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology.topology import Topology

SECOND = 1_000_000  # event times are in microseconds
# Beyond this the data is history that is being read, and its age says nothing of the system.
MOST_LAG_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class LiveFigures:
    """Rates a second, rows that wait, and latency, delay and lag of the slowest.

    Latency and delay are those of the last minute. While it `is_warming_up`, a source has yet to
    begin.
    """

    rows_in: float
    rows_out: float
    queued: int
    p50: float | None = None
    p99: float | None = None
    delay: float | None = None
    lag: float | None = None
    is_warming_up: bool = False


def observe(topology: Topology, now: float) -> LiveFigures:
    """Return the figures of now; latencies and lag in seconds."""
    queries = list(topology.queries.values())
    source_readers = list(topology.source_readers.values())
    return LiveFigures(
        rows_in=sum(source_reader.meter.rate(now) for source_reader in source_readers),
        rows_out=sum(query.meter.rate(now) for query in queries),
        queued=sum(buffer.figures().rows for buffer in topology.buffers),
        p50=_largest(query.meter.latencies.quantile(0.5, now) for query in queries),
        p99=_largest(query.meter.latencies.quantile(0.99, now) for query in queries),
        delay=_largest(query.meter.delays.quantile(0.5, now) for query in queries),
        lag=_largest(lag_of(source_reader, now) for source_reader in source_readers),
        is_warming_up=any(source_reader.is_held for source_reader in source_readers),
    )


def lag_of(source_reader: SourceReader, now: float) -> float | None:
    """Return how far the stream's watermark is behind now, where that says something."""
    if source_reader.ended or source_reader.watermark in (BEGIN_OF_TIME, END_OF_TIME):
        return None
    lag = now - source_reader.watermark / SECOND
    return max(0.0, lag) if lag < MOST_LAG_SECONDS else None


def _largest(values: Iterator[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
