"""What the clock decided in a run of a flow, which a replay has to be told."""

from dataclasses import dataclass
from typing import Any

Lost = tuple[int, int, int]  # which piece of a run, which stage, which of its tasks


@dataclass(frozen=True, slots=True)
class TimeOuts:
    """The time that merges went by, in seconds, and the tasks that were given up."""

    now: float
    lost: tuple[Lost, ...] = ()

    def to_json(self) -> list[Any]:
        """Return it as JSON can hold it."""
        return [self.now, [list(each) for each in self.lost]]

    @classmethod
    def from_json(cls, told: Any) -> "TimeOuts | None":
        """Return it from JSON; what was not recorded is None."""
        if told is None:
            return None
        now, lost = told
        return cls(now, tuple((piece, stage, task) for piece, stage, task in lost))

    def at(self, piece: int, stage: int) -> frozenset[int]:
        """Return the tasks of a stage that were given up."""
        return frozenset(task for p, s, task in self.lost if (p, s) == (piece, stage))
