"""Slots as the cluster has cores: units that run at once grow and shrink with its executors."""

from dataclasses import dataclass

from penstock.engine.spark.jobs.processor import Processor
from penstock.runtime.quality.quality import Quality
from penstock.runtime.work.worker_pool import WorkerPool

LOOK_SECONDS = 1.0


@dataclass(slots=True)
class ClusterSlots:
    """Looks at the cores from time to time; `are_given` says that somebody has fixed the slots."""

    processor: Processor
    pool: WorkerPool
    quality: Quality
    are_given: bool = False
    _next_look: float = 0.0

    def follow(self, now: float) -> None:
        """Take as many slots as there are cores."""
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        found = self.processor.follow_cores()
        if not self.are_given and found != self.pool.slots:
            self.pool.resize(found)
            self.quality.resize(found)
