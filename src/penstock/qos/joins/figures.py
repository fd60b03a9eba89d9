"""What the memory model asks of the inputs of a join (Table 3.1 of Wu's thesis, TIME-02)."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class InputFigures:
    """One input: its scrambling factor, its tuples a second, and how often a key comes at most.

    `lags` says how many tuples it leads each other input by, by their places (Def 3.2.6).
    """

    factor: int
    rate: float
    multiplicity: int = 1
    lags: Mapping[int, int] = field(default_factory=dict)

    def lag_to(self, other: int) -> int:
        """Return how many tuples it leads another input by; 0 where nothing is known."""
        return self.lags.get(other, 0)
