"""Machine: the processor that is simulated."""

import math
from dataclasses import dataclass

from penstock.errors import BadOptionError
from penstock.schedule.batching import Batching, Everything

EVERYTHING = Everything()


@dataclass(frozen=True, slots=True)
class Machine:
    """Slots, what is lost beside the work, and how many trains a run takes.

    A switch is charged where a slot runs another unit than before. A decision costs a part that is
    always the same and one for each ready unit. Spark cannot stop a job and goes on; a `preemptive`
    machine asks strategies that interrupt, and resumes what it stopped. One that `may_discard`
    gives up what a strategy calls hopeless.
    """

    slots: int = 1
    switch_seconds: float = 0.0
    decision_seconds: float = 0.0
    ready_seconds: float = 0.0
    batching: Batching = EVERYTHING
    preemptive: bool = False
    may_discard: bool = False
    until: float = math.inf  # what is not done by then is not done at all
    traced: bool = False  # keep what waited after every event

    def __post_init__(self) -> None:
        """Refuse machines that cannot be built."""
        if self.slots < 1:
            raise BadOptionError(f"a machine of {self.slots} slots runs nothing")
        overheads = (self.switch_seconds, self.decision_seconds, self.ready_seconds)
        if not all(0 <= each < math.inf for each in overheads):
            raise BadOptionError(f"overheads {overheads} must be finite and not below zero")
