"""Samples of streams and queries over the last minutes, taken while everything runs.

They are made of counters that are there anyway, so one costs some 30 microseconds: rates and
latencies are differences to the counters before. The more there is to sample, the less often that
is done: memory and cost stay bounded, and the span stays as it is.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.runtime.quality.waiting_trains import Waits, waiting_for, waits_in
from penstock.runtime.sources.source_reader import SourceReader
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_query import LiveQuery

INTERVAL_SECONDS = 2.0  # fine enough for a curve over minutes
SPAN_SECONDS = 600.0
MOST_SAMPLES = 30_000  # some 10 MB


@dataclass(frozen=True, slots=True)
class Counters:
    """What a stream or a query (`kind`) has done so far, and what waits now."""

    kind: str
    name: str
    rows_in: int
    rows_out: int
    waiting_rows: int
    memory_bytes: int
    timed_rows: int = 0
    latency_seconds: float = 0.0  # of all timed rows together
    delay_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """Counters at a moment, and what they say of the time since the sample before.

    Rates are None where there was none before, latency and delay (means of the rows) where
    nothing was delivered.
    """

    at: float
    counters: Counters
    in_per_second: float | None = None
    out_per_second: float | None = None
    latency: float | None = None
    delay: float | None = None


class Samples:
    """A ring; only the supervisor's thread adds to it, others may read it meanwhile."""

    def __init__(self, topology: Topology) -> None:
        """Begin with none."""
        self._topology = topology
        self._ring: deque[tuple[Sample, ...]] = deque()
        self._count = 0
        self._taken_at: float | None = None
        self._before: dict[tuple[str, str], Counters] = {}

    def __iter__(self) -> Iterator[Sample]:
        """Walk the samples, the oldest first."""
        return (sample for taken in list(self._ring) for sample in taken)

    def look(self, now: float) -> None:
        """Take a sample of everything where the interval has passed; forget what is too old."""
        elapsed = 0.0 if self._taken_at is None else now - self._taken_at
        if self._taken_at is not None and 0 <= elapsed < interval_for(len(self._before)):
            return  # a clock that was set back gets a sample at once
        before, found = self._before, list(_counters(self._topology))
        self._taken_at, self._before = now, {(each.kind, each.name): each for each in found}
        if found:
            samples = (
                _sample(now, each, before.get((each.kind, each.name)), elapsed) for each in found
            )
            self._ring.append(tuple(samples))
            self._count += len(found)
        while self._ring and self._is_too_old(now):
            self._count -= len(self._ring.popleft())

    def _is_too_old(self, now: float) -> bool:
        """Say whether the oldest samples go; the latest stay, however many these are."""
        are_many = self._count > MOST_SAMPLES and len(self._ring) > 1
        return are_many or self._ring[0][0].at <= now - SPAN_SECONDS


def interval_for(count: int) -> float:
    """Return the seconds between two samples of so many streams and queries."""
    return max(INTERVAL_SECONDS, SPAN_SECONDS * count / MOST_SAMPLES)


def _sample(at: float, now: Counters, before: Counters | None, seconds: float) -> Sample:
    if before is None or seconds <= 0 or now.rows_in < before.rows_in:  # made anew under its name
        return Sample(at, now)
    rows = now.timed_rows - before.timed_rows
    return Sample(
        at,
        now,
        (now.rows_in - before.rows_in) / seconds,
        max(0, now.rows_out - before.rows_out) / seconds,
        (now.latency_seconds - before.latency_seconds) / rows if rows > 0 else None,
        (now.delay_seconds - before.delay_seconds) / rows if rows > 0 else None,
    )


def _counters(topology: Topology) -> Iterator[Counters]:
    waits = waits_in(topology.buffers)
    for source_reader in list(topology.source_readers.values()):
        yield _stream(source_reader, topology)
    for query in list(topology.queries.values()):
        yield _query(query, topology, waits)


def _stream(source_reader: SourceReader, topology: Topology) -> Counters:
    """Return a stream's counters: rows are out when all readers have read them."""
    buffer = topology.buffers.get(source_reader.key)
    waiting = sum(train.rows.count for train in buffer.unread()) if buffer is not None else 0
    memory = buffer.memory_bytes if buffer is not None else 0
    return Counters(
        "stream",
        source_reader.definition.name,
        source_reader.rows,
        max(0, source_reader.rows - waiting),
        waiting,
        memory,
    )


def _query(query: LiveQuery, topology: Topology, waits: Waits) -> Counters:
    """Return a query's counters; the buffers on its way count as its memory, also shared ones."""
    buffers = (topology.buffers.get(name) for name in query.nodes)
    return Counters(
        "query",
        query.name,
        topology.rows_in(query),
        query.meter.rows,
        waiting_for(query, topology, waits).rows,
        sum(buffer.memory_bytes for buffer in buffers if buffer is not None),
        query.meter.timed_rows,
        query.meter.latency_seconds,
        query.meter.delay_seconds,
    )
