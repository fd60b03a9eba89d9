"""The checkpoint writer: writes everything down, and knows when the next one is due."""

from dataclasses import dataclass
from pathlib import Path

from penstock.clock import Clock
from penstock.engine.spark.application.spark_life import refuse_dead
from penstock.runtime.durable.journal import Journal
from penstock.runtime.loop.control import Control
from penstock.runtime.topology.checkpoint import write_checkpoint
from penstock.runtime.topology.topology import Topology


@dataclass(slots=True)
class CheckpointWriter:
    """`seconds` lie between two checkpoints, where no change asks for one before."""

    topology: Topology
    control: Control
    journal: Journal
    directory: Path
    clock: Clock
    seconds: float
    due_at: float = 0.0

    def write(self) -> None:
        """Write down everything; while quiesced."""
        refuse_dead()  # the run that met a dead Spark may not have been settled
        statistics = self.control.dispatcher.statistics
        decided = {"control": self.control.kept(), "statistics": statistics.kept()}
        write_checkpoint(self.topology, self.journal, self.directory, decided)
        self.put_off()

    def put_off(self) -> None:
        """Make the next checkpoint due a whole interval from now."""
        self.due_at = self.clock.now() + self.seconds
