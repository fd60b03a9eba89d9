"""Source poller: asks the sources for trains and puts them into their buffers."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.clock import Clock
from penstock.engine.interfaces.interface import Arriving
from penstock.engine.trains.buffers import Buffer, Train
from penstock.errors import PenstockError, describe
from penstock.runtime.durable.journal import Journal
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.sources.source_reader import PendingTrain, SourceReader
from penstock.runtime.sources.stream_monitor import Watching
from penstock.runtime.topology.read_ahead import READ_AHEAD, ReadAhead, is_ahead
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.worker_pool import Workers

RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class SourcePoller:
    """A stream is read by one worker at a time, and only while its buffer has readers.

    A source that `is_held` now is asked later.
    """

    topology: Topology
    pool: Workers
    journal: Journal
    clock: Clock
    statistics: Statistics = field(default_factory=Statistics)
    watching: Watching = field(default_factory=Watching)
    read_ahead: ReadAhead = READ_AHEAD
    is_held: Callable[[SourceReader, float], bool] = lambda *_: False

    def start(self, now: float) -> None:
        """Start to read whatever waits at the sources and fits."""
        self._start(list(self.topology.source_readers.values()), now)

    def start_pushed(self, now: float) -> None:
        """Start to read what was pushed, which is there; other sources may take long."""
        readers = list(self.topology.source_readers.values())
        self._start([each for each in readers if isinstance(each.interface, Arriving)], now)

    def _start(self, source_readers: Iterable[SourceReader], now: float) -> None:
        for source_reader in source_readers:
            buffer = self.topology.buffers.get(source_reader.key)
            if (
                buffer is not None
                and now >= source_reader.retry_at
                and not self._is_busy(source_reader)
            ):
                self._start_source_reader(source_reader, buffer, now)

    def _is_busy(self, source_reader: SourceReader) -> bool:
        return self.pool.is_busy(f"source:{source_reader.key}")

    def _start_source_reader(self, source_reader: SourceReader, buffer: Buffer, now: float) -> None:
        if not buffer.readers() or self._is_ahead(buffer):
            return
        source_reader.is_held = self.is_held(source_reader, now)
        if source_reader.is_held:
            return
        source_reader.cutting = True
        try:
            self._cut(source_reader, now)
        except PenstockError as error:
            source_reader.failed(str(error), now + RETRY_SECONDS)
        finally:
            source_reader.cutting = False

    def _cut(self, source_reader: SourceReader, now: float) -> None:
        cut = source_reader.cut(self.journal, now)
        if cut is None:
            return
        began = time.perf_counter()

        def read(future: Future[object]) -> None:
            took = time.perf_counter() - began  # until it can be read again, hand-overs and all
            self.statistics.timings.worked(source_reader.key, took, self.clock.now())
            self._read(source_reader, cut, future)

        name = f"source:{source_reader.key}"
        self.pool.submit(name, lambda: self._work(source_reader, cut), read)

    def _work(self, source_reader: SourceReader, cut: PendingTrain) -> Train:
        now = self.clock.now()
        train = source_reader.read(cut, now)
        self.watching.take(source_reader.key, source_reader.definition, train.rows, now)
        return train

    def _is_ahead(self, buffer: Buffer) -> bool:
        """Say whether the readers have enough to do; one that is held does not hold the others."""
        return is_ahead(buffer, self.topology, self.read_ahead)

    def _read(self, source_reader: SourceReader, cut: PendingTrain, future: Future[object]) -> None:
        error = future.exception()
        if isinstance(error, PenstockError | OSError | pa.ArrowException | LookupError):
            source_reader.failed(describe(error), self.clock.now() + RETRY_SECONDS)
            source_reader.put_back(cut)
            return
        train = future.result()
        assert isinstance(train, Train)  # noqa: S101  (what `read` returns)
        if (buffer := self.topology.buffers.get(source_reader.key)) is not None:
            buffer.append(train)
        source_reader.recovered()
        now = self.clock.now()
        source_reader.meter.passed(train.rows.count, now)
        if train.info.first is not None and train.info.last is not None:
            source_reader.tempo = source_reader.tempo.add(
                train.rows.count, train.info.first, train.info.last
            )
        self.statistics.wrote(source_reader.key, train.rows.count, train.info.size, now)
        self.statistics.timings.appended(source_reader.key, [train.info], now)
