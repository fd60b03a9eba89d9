"""Parts: rows of a state as they came, with what they span, combined level by level."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from penstock.engine.states.state import KeptPart
from penstock.engine.trains.memory_budget import MemoryBudget
from penstock.engine.trains.rows import COMPACT_PARTS, Rows


@dataclass(frozen=True, slots=True)
class Part:
    """Some rows, and the first and last value of the columns that bound them.

    `partitions` says of each of the rows' files in which partition of the state it is; without,
    the rows are in none. `size` is what the values of many rows in none take.
    """

    rows: Rows
    first: int
    last: int
    level: int = 0
    partitions: tuple[int, ...] = ()
    size: int = 0

    def kept(self, **more: Any) -> KeptPart:
        """Return it for a checkpoint."""
        facts = {"first": self.first, "last": self.last, "level": self.level, **more}
        facts |= {"size": self.size} if self.size else {}
        facts |= {"partitions": list(self.partitions)} if self.partitions else {}
        return KeptPart(self.rows, facts)

    @classmethod
    def back(cls, kept: KeptPart) -> Self:
        """Return the part that a checkpoint kept."""
        first, last, level = (kept.facts[name] for name in ("first", "last", "level"))
        partitions = tuple(kept.facts.get("partitions", ()))
        return cls(kept.rows, first, last, level, partitions, kept.facts.get("size", 0))


def crowded(parts: Sequence[Part]) -> list[Part]:
    """Return the parts of one level once there are many, newest levels first.

    Levels keep the work low: a row is combined with others only once per level.
    """
    for level in range(max((part.level for part in parts), default=0) + 1):
        found = [part for part in parts if part.level == level]
        if len(found) >= COMPACT_PARTS:
            return found
    return []


def spill_large(parts: Iterable[Part], directory: Path, room: MemoryBudget | None = None) -> None:
    """Spill the parts that are not small, as far as there is no room for them."""
    for part in parts:
        if part.rows.table is None or part.rows.is_small:
            continue
        if room is None or not room.has_room(part.rows):
            part.rows.leave_memory(directory)
