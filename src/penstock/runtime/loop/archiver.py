"""Archiving: puts the trains of streams that are ARCHIVEd into their archives.

An archive is one more reader of its stream's buffer: its place is in the checkpoint, and what it
has not written is read again after a crash.
"""

from concurrent.futures import Future
from dataclasses import dataclass

from penstock.clock import Clock
from penstock.engine.trains.buffers import Buffer, Train
from penstock.errors import describe
from penstock.runtime.sources.archive import Archive
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.worker_pool import Workers

TOGETHER = 16  # trains a worker writes before their place is noted
RETRY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Archiving:
    """An archive is written by one worker at a time."""

    topology: Topology
    pool: Workers
    clock: Clock

    def start(self, now: float) -> None:
        """Start to write whatever waits."""
        for key, archive in list(self.topology.archives.items()):
            buffer = self.topology.buffers.get(key)
            if buffer is None or now < archive.retry_at or self.pool.is_busy(archive.reader):
                continue
            if trains := buffer.waiting(archive.reader)[:TOGETHER]:
                self._start(archive, buffer, trains)

    def _start(self, archive: Archive, buffer: Buffer, trains: list[Train]) -> None:
        def wrote(future: Future[object]) -> None:
            error = future.exception()
            if isinstance(error, Exception):  # whatever it is: nothing is lost while it is tried
                archive.failed(describe(error), self.clock.now() + RETRY_SECONDS)
                return
            future.result()
            archive.recovered()
            buffer.advance(archive.reader, trains[-1].info.number)

        self.pool.submit(archive.reader, lambda: archive.write(trains), wrote)
