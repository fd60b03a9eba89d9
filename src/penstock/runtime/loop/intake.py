"""Intake: asks the sources for trains and puts them into their buffers."""

from concurrent.futures import Future
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.clock import Clock
from penstock.engine.trains.buffers import Buffer, Train
from penstock.errors import PenstockError, told
from penstock.runtime.durable.journal import Journal
from penstock.runtime.quality.statistics import Statistics
from penstock.runtime.sources.feed import Cut, Feed
from penstock.runtime.sources.watching import Watching
from penstock.runtime.topology.read_ahead import READ_AHEAD, ReadAhead, is_ahead
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.worker_pool import Workers

RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Intake:
    """A stream is read by one worker at a time, and only while somebody reads its buffer."""

    topology: Topology
    pool: Workers
    journal: Journal
    clock: Clock
    statistics: Statistics = field(default_factory=Statistics)
    watching: Watching = field(default_factory=Watching)
    read_ahead: ReadAhead = READ_AHEAD

    def start(self, now: float) -> None:
        """Start to read whatever waits at the sources and fits."""
        for feed in list(self.topology.feeds.values()):
            buffer = self.topology.buffers.get(feed.key)
            if buffer is not None and now >= feed.retry_at and not self._is_busy(feed):
                self._start_feed(feed, buffer, now)

    def _is_busy(self, feed: Feed) -> bool:
        return self.pool.is_busy(f"feed:{feed.key}")

    def _start_feed(self, feed: Feed, buffer: Buffer, now: float) -> None:
        if not buffer.readers() or self._is_ahead(buffer):
            return
        feed.cutting = True
        try:
            self._cut(feed, now)
        except PenstockError as error:
            feed.failed(str(error), now + RETRY_SECONDS)
        finally:
            feed.cutting = False

    def _cut(self, feed: Feed, now: float) -> None:
        cut = feed.cut(self.journal, now)
        if cut is not None:
            self.pool.submit(
                f"feed:{feed.key}",
                lambda: self._work(feed, cut),
                lambda future: self._read(feed, cut, future),
            )

    def _work(self, feed: Feed, cut: Cut) -> Train:
        now = self.clock.now()
        train = feed.read(cut, now)
        self.watching.take(feed.key, feed.definition, train.rows, now)
        return train

    def _is_ahead(self, buffer: Buffer) -> bool:
        """Say whether the readers have enough to do; one that is held does not hold the others."""
        return is_ahead(buffer, self.topology, self.read_ahead)

    def _read(self, feed: Feed, cut: Cut, future: Future[object]) -> None:
        error = future.exception()
        if isinstance(error, PenstockError | OSError | pa.ArrowException | LookupError):
            feed.failed(told(error), self.clock.now() + RETRY_SECONDS)
            feed.put_back(cut)
            return
        train = future.result()
        assert isinstance(train, Train)  # noqa: S101  (what `read` returns)
        if (buffer := self.topology.buffers.get(feed.key)) is not None:
            buffer.append(train)
        feed.recovered()
        now = self.clock.now()
        feed.meter.passed(train.rows.count, now)
        if train.info.first is not None and train.info.last is not None:
            feed.tempo = feed.tempo.add(train.rows.count, train.info.first, train.info.last)
        self.statistics.wrote(feed.key, train.rows.count, train.info.size, now)
