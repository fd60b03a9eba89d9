"""The coordinator's side: who has each unit, and which of its runs are done.

Every step returns what is to be done, in this order: records are on disk before anything after
them is said. All but what processors have done is in the journal; a coordinator that comes back
asks them again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto

from penstock.place.relocation.messages import (
    Adopt,
    Adopted,
    Forget,
    Ran,
    Release,
    Released,
    Report,
    Run,
    Save,
    Saved,
    ToCoordinator,
    ToProcessor,
    Train,
    Unknown,
)
from penstock.place.relocation.records import Placed, Record, Recorded, SavedAt


@dataclass(frozen=True, slots=True)
class Say:
    """A message to a processor."""

    processor: str
    message: ToProcessor


@dataclass(frozen=True, slots=True)
class Available:
    """The output of a run can be fetched; it may be told again, after a processor died."""

    unit: str
    number: int


Step = Record | Say | Available


class Phase(Enum):
    """Where a unit stands between two processors."""

    ADOPTING = auto()
    RUNNING = auto()
    RELEASING = auto()


@dataclass(frozen=True, slots=True)
class PlacedUnit:
    """A unit: who has it, since when, what is saved and what is done."""

    processor: str
    epoch: int
    saved: int
    done: int
    phase: Phase = Phase.ADOPTING
    target: str = ""
    runs: tuple[tuple[Train, ...], ...] = ()


class Coordinator:
    """All units of a plan."""

    def __init__(self, journal: Iterable[Record] = ()) -> None:
        """Come back from what the journal says."""
        self._units: dict[str, PlacedUnit] = {}
        for record in journal:
            self._take(record)

    @property
    def units(self) -> dict[str, PlacedUnit]:
        """Return where every unit stands."""
        return dict(self._units)

    def place(self, unit: str, processor: str) -> list[Step]:
        """Give a new unit to a processor; its first save, the empty one, is number 0."""
        return self._switch(unit, processor, 0)

    def record(self, unit: str, inputs: tuple[Train, ...]) -> list[Step]:
        """Record a unit's next run, also while the unit moves."""
        placed = self._units[unit]
        number = len(placed.runs)
        record = self._take(Recorded(unit, number, inputs))
        return [record, *(self._next_run(unit) if placed.done == number else [])]

    def move(self, unit: str, target: str) -> list[Step]:
        """Begin to move a unit that runs; one that is on its way already arrives first."""
        placed = self._units[unit]
        if placed.phase is not Phase.RUNNING or placed.processor == target:
            return []
        self._units[unit] = replace(placed, phase=Phase.RELEASING, target=target)
        return [Say(placed.processor, Release(unit, placed.epoch))]

    def save(self, unit: str) -> list[Step]:
        """Ask for a save of a unit that runs."""
        placed = self._units[unit]
        if placed.phase is not Phase.RUNNING:
            return []
        return [Say(placed.processor, Save(unit, placed.epoch))]

    def lost(self, processor: str, instead: str) -> list[Step]:
        """Place the units of a processor that does not answer, from their last saves."""
        return [
            step
            for unit, placed in list(self._units.items())
            if placed.processor == processor
            for step in self._switch(unit, instead, placed.saved)
        ]

    def remind(self) -> list[Step]:
        """Say again what has not been answered, and ask whether idle units are still there."""
        return [step for unit in self._units for step in self._reminder(unit)]

    def receive(self, sender: str, message: ToCoordinator) -> list[Step]:
        """Take in what a processor says; in another epoch than the unit's, nothing comes of it."""
        unit, placed = message.unit, self._units[message.unit]
        if message.epoch != placed.epoch or sender != placed.processor:
            return [Say(sender, Forget(unit, message.epoch))]
        match message:
            case Adopted(next_run=number) if placed.phase is Phase.ADOPTING:
                self._units[unit] = replace(placed, phase=Phase.RUNNING, done=number)
                done = [Available(unit, each) for each in range(placed.done, number)]
                return [*done, *self._next_run(unit)]
            case Adopted(next_run=number) if number < placed.done:
                # It came back without what it had not saved, and was given the unit once more.
                self._units[unit] = replace(placed, done=number)
                return self._next_run(unit)
            case Ran(number=number) if number == placed.done and placed.phase is not Phase.ADOPTING:
                self._units[unit] = replace(placed, done=number + 1)
                return [Available(unit, number), *self._next_run(unit)]
            case Saved(next_run=number) if number > placed.saved:
                return [self._take(SavedAt(unit, number))]
            case Released(next_run=number):
                done = [Available(unit, each) for each in range(placed.done, number)]
                target = placed.target or placed.processor
                return [*self._switch(unit, target, number), *done]
            case Unknown() if placed.phase is not Phase.ADOPTING:
                return self._switch(unit, placed.processor, placed.saved)
            case Adopted() | Ran() | Saved() | Unknown() | Report():
                return []  # heard before, or a matter of statistics

    def _switch(self, unit: str, processor: str, next_run: int) -> list[Step]:
        """Place a unit anew: one record says where it is, and from which run on."""
        old = self._units.get(unit)
        epoch = old.epoch + 1 if old else 1
        record = self._take(Placed(unit, processor, epoch, next_run))
        forget = [Say(old.processor, Forget(unit, old.epoch))] if old else []
        return [record, *forget, Say(processor, Adopt(unit, epoch, next_run))]

    def _reminder(self, unit: str) -> list[Step]:
        placed = self._units[unit]
        match placed.phase:
            case Phase.ADOPTING:
                return [Say(placed.processor, Adopt(unit, placed.epoch, placed.saved))]
            case Phase.RELEASING:
                return [Say(placed.processor, Release(unit, placed.epoch))]
            case Phase.RUNNING:
                # With nothing to run, too: outputs that others wait for may be lost with it.
                adopt = Say(placed.processor, Adopt(unit, placed.epoch, placed.saved))
                return self._next_run(unit) or [adopt]

    def _next_run(self, unit: str) -> list[Step]:
        """Return the run that is next, if it is recorded and the unit is there to do it."""
        placed = self._units[unit]
        number = placed.done
        if placed.phase is not Phase.RUNNING or number >= len(placed.runs):
            return []
        return [Say(placed.processor, Run(unit, placed.epoch, number, placed.runs[number]))]

    def _take(self, record: Record) -> Record:
        """Take in a record, new or from the journal."""
        placed = self._units.get(record.unit)
        match record:
            case Placed(unit, processor, epoch, next_run):
                runs = placed.runs if placed else ()
                self._units[unit] = PlacedUnit(processor, epoch, next_run, next_run, runs=runs)
            case Recorded(unit, _, inputs) if placed:
                self._units[unit] = replace(placed, runs=(*placed.runs, inputs))
            case SavedAt(unit, next_run) if placed:
                # A save is a done run's: a coordinator that comes back need not ask for it.
                self._units[unit] = replace(placed, saved=next_run, done=max(placed.done, next_run))
            case Recorded() | SavedAt():
                raise AssertionError(f"{record} of a unit that was never placed")
        return record
