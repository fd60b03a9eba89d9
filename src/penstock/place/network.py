"""Network: units as placing sees them, with what each costs and sends.

Outputs and streams are *nets*: a processor gets each of them once, however many of its units read
it. So what a net costs is its bytes, once for every processor that has to get it from another.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.errors import BadOptionError


@dataclass(frozen=True, slots=True)
class NetworkUnit:
    """A unit: what it reads (units or streams), the seconds a second it needs, its output."""

    name: str
    inputs: tuple[str, ...] = ()
    load: float = 1.0
    output_bytes: float = 1.0  # a second
    state_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class Network:
    """Units, writers before their readers, and the bytes a second of each stream."""

    units: Mapping[str, NetworkUnit]
    streams: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse units that read what is not there yet."""
        known = set(self.streams)
        for name, unit in self.units.items():
            for each in unit.inputs:
                if each not in known:
                    raise BadOptionError(
                        f"unit {name} reads {each}, which is no stream and no unit before it"
                    )
            known.add(name)

    @classmethod
    def of(cls, units: Iterable[NetworkUnit], streams: Mapping[str, float]) -> "Network":
        """Return the network of some units, in the order in which they stand."""
        return cls({unit.name: unit for unit in units}, streams)

    @property
    def load(self) -> float:
        """Return the seconds of work a second that all units need."""
        return sum(unit.load for unit in self.units.values())

    def readers(self) -> dict[str, tuple[str, ...]]:
        """Return who reads each stream and each unit, in the order of the units."""
        found: dict[str, list[str]] = {name: [] for name in (*self.streams, *self.units)}
        for name, unit in self.units.items():
            for each in dict.fromkeys(unit.inputs):
                found[each].append(name)
        return {name: tuple(readers) for name, readers in found.items()}

    def neighbours(self) -> dict[str, tuple[str, ...]]:
        """Return the units that each unit reads or that read it."""
        readers = self.readers()
        return {
            name: tuple(
                dict.fromkeys([*(u for u in unit.inputs if u in self.units), *readers[name]])
            )
            for name, unit in self.units.items()
        }

    def nets(self) -> dict[str, tuple[tuple[str, ...], float]]:
        """Return, for each output and stream, the units on it (its writer, too) and its bytes."""
        found: dict[str, tuple[tuple[str, ...], float]] = {}
        for name, readers in self.readers().items():
            if name in self.units:
                found[name] = ((name, *readers), self.units[name].output_bytes)
            else:
                found[name] = (readers, self.streams[name])
        return found
