"""Processor: a name and whatever is known of it, as free properties (DCAPE-22)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.errors import BadOptionError

Value = str | int | float | bool

CORES, SPEED, MEMORY = "cores", "speed", "memory_bytes"
FEW_BYTES = 2 * 1024**3  # of memory, where a processor does not say


@dataclass(frozen=True, slots=True)
class Processor:
    """What runs units. Any property may be stated; those that are read here have a default."""

    name: str
    properties: Mapping[str, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse figures that nothing could be divided by."""
        for name in (CORES, SPEED, MEMORY):
            self.number(name, 1)

    @property
    def capacity(self) -> float:
        """Return how many seconds of work a second it does, of a core of speed 1."""
        return self.number(CORES, 1) * self.number(SPEED, 1)

    @property
    def memory_bytes(self) -> float:
        """Return what states and queues may take."""
        return self.number(MEMORY, FEW_BYTES)

    def number(self, name: str, default: float) -> float:
        """Return a property that has to be a number above zero."""
        value = self.properties.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise BadOptionError(f"{name} of processor {self.name} is {value!r}, no number")
        if not 0 < value < math.inf:
            raise BadOptionError(f"{name} of processor {self.name} is {value}, not above zero")
        return float(value)

    def with_properties(self, **changed: Value) -> "Processor":
        """Return the processor with some properties stated anew."""
        return replace(self, properties={**self.properties, **changed})
