"""Placement: which processor each unit is on (DCAPE's distribution table), and what follows."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from penstock.place.network import Network
from penstock.place.processor import Processor

Placement = Mapping[str, str]  # the processor's name by the unit's


@dataclass(frozen=True, slots=True)
class Move:
    """A unit that changes its processor (DCAPE's difference table has these)."""

    unit: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Connection:
    """One output or stream that a processor gets; it comes from another, or from outside."""

    name: str
    source: str | None
    target: str


def faults_of(
    placement: Placement, network: Network, answering: Collection[str]
) -> tuple[str, ...]:
    """Return what is wrong with a placement; nothing is, if all units run where one answers."""
    missing = [name for name in network.units if name not in placement]
    unknown = [name for name in placement if name not in network.units]
    silent = [name for name in dict.fromkeys(placement.values()) if name not in answering]
    return (
        *(f"unit {name} is on no processor" for name in missing),
        *(f"there is no unit {name}" for name in unknown),
        *(f"processor {name} does not answer" for name in silent),
    )


def moves_between(old: Placement, new: Placement) -> tuple[Move, ...]:
    """Return the units that are elsewhere now."""
    return tuple(
        Move(unit, old[unit], target)
        for unit, target in new.items()
        if unit in old and old[unit] != target
    )


def with_move(placement: Placement, move: Move) -> dict[str, str]:
    """Return the placement after a move."""
    return {**placement, move.unit: move.target}


def loads_of(
    placement: Placement, network: Network, processors: Iterable[Processor]
) -> dict[str, float]:
    """Return the seconds a second that each processor has to do, its capacity aside."""
    found = {each.name: 0.0 for each in processors}
    for unit, processor in placement.items():
        found[processor] = found.get(processor, 0.0) + network.units[unit].load
    return found


def bytes_cut(placement: Placement, network: Network) -> float:
    """Return the bytes a second that go between processors.

    A stream comes to the first processor that reads it from outside, and costs from the second on.
    """
    return sum(
        size * (len({placement[unit] for unit in units}) - 1)
        for units, size in network.nets().values()
        if units
    )


def edges_cut(placement: Placement, network: Network) -> int:
    """Return how many times a unit reads one of another processor."""
    return sum(
        placement[name] != placement[each]
        for name, unit in network.units.items()
        for each in unit.inputs
        if each in network.units
    )


def connections_of(placement: Placement, network: Network) -> tuple[Connection, ...]:
    """Return what each processor gets over a connection: outputs of others, and its streams."""
    found = []
    for name, readers in network.readers().items():
        source = placement.get(name)
        targets = dict.fromkeys(placement[reader] for reader in readers)
        found += [Connection(name, source, target) for target in targets if target != source]
    return tuple(found)
