"""The checkpoint writer: writes everything down, and knows when the next one is due."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.clock import Clock
from penstock.engine.spark.application.spark_life import refuse_dead
from penstock.qos.monitor.durations import Durations
from penstock.runtime.durable.journal import Journal
from penstock.runtime.loop.control import Control
from penstock.runtime.topology.checkpoint import write_addition, write_checkpoint
from penstock.runtime.topology.topology import Topology


@dataclass(slots=True)
class CheckpointWriter:
    """`seconds` lie between two checkpoints, where no change asks for one before.

    `durations` says how long those since the start took, `seconds_taken` is their sum, and
    `written_at` is when the last one was.
    """

    topology: Topology
    control: Control
    journal: Journal
    directory: Path
    clock: Clock
    seconds: float
    due_at: float = 0.0
    durations: Durations = field(default_factory=Durations)
    seconds_taken: float = 0.0
    written_at: float | None = None

    def write(self) -> None:
        """Write down everything; while quiesced."""
        with self._timed():
            write_checkpoint(self.topology, self.journal, self.directory, self._decided())
        self.put_off()

    def write_addition(self) -> None:
        """Write down what was added, or everything where that does not do; while quiesced.

        The next whole checkpoint is due when it was: what is done again is never more than that.
        """
        if not write_addition(self.topology, self.journal, self.directory, self._decided()):
            self.write()

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        took, self.written_at = time.perf_counter() - began, self.clock.now()
        self.seconds_taken += took
        self.durations.add(took, 1, self.written_at)

    def _decided(self) -> dict[str, Any]:
        refuse_dead()  # the run that met a dead Spark may not have been settled
        statistics = self.control.dispatcher.statistics
        return {"control": self.control.kept(), "statistics": statistics.kept()}

    def put_off(self) -> None:
        """Make the next checkpoint due a whole interval from now."""
        self.due_at = self.clock.now() + self.seconds
