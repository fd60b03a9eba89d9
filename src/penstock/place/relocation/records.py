"""What the coordinator writes in its journal before it says anything about it."""

from dataclasses import dataclass

from penstock.place.relocation.messages import Train


@dataclass(frozen=True, slots=True)
class Placed:
    """The switch: from run `next_run` on, the unit is on this processor, in this epoch.

    A save of that number is there.
    """

    unit: str
    processor: str
    epoch: int
    next_run: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run takes these trains, whoever does it and however often."""

    unit: str
    number: int
    inputs: tuple[Train, ...]


@dataclass(frozen=True, slots=True)
class SavedAt:
    """What was done before run `next_run` need not be done again."""

    unit: str
    next_run: int


Record = Placed | Recorded | SavedAt
