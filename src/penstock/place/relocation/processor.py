"""The processor's side: which units it has, and what their engine has to do next.

Messages and what the engine has done come in, jobs for the engine and messages go out. A unit does
one thing at a time.
"""

from dataclasses import dataclass, replace
from enum import Enum, auto

from penstock.place.relocation.messages import (
    Adopt,
    Adopted,
    Forget,
    Ran,
    Release,
    Released,
    Run,
    Save,
    Saved,
    ToCoordinator,
    ToProcessor,
    Train,
    Unknown,
)


class Work(Enum):
    """What the engine does for a unit."""

    LOAD = auto()
    RUN = auto()
    SAVE = auto()


@dataclass(frozen=True, slots=True)
class Job:
    """Work for the engine: load the save before a run, do the run, or save what is before it."""

    work: Work
    unit: str
    epoch: int
    number: int
    inputs: tuple[Train, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldUnit:
    """A unit that is here: its next run, what the engine does for it, and whether it is to go."""

    epoch: int
    next_run: int
    job: Job | None = None
    releasing: bool = False
    released: bool = False


Answer = ToCoordinator | Job


class ProcessorSide:
    """All units of one processor."""

    def __init__(self) -> None:
        self._held: dict[str, HeldUnit] = {}
        self._seen: dict[str, int] = {}  # the last epoch in which a unit was here

    @property
    def held(self) -> dict[str, HeldUnit]:
        """Return the units that are here."""
        return dict(self._held)

    def receive(self, message: ToProcessor) -> list[Answer]:
        """Take in what the coordinator says."""
        unit, epoch = message.unit, message.epoch
        held = self._held.get(unit)
        if held is not None and held.epoch != epoch:
            held = None
        if isinstance(message, Adopt):
            return self._adopt(message, held)
        if isinstance(message, Forget):
            self._forget(unit, epoch)
            return []
        if held is None:
            return [] if epoch < self._seen.get(unit, 0) else [Unknown(unit, epoch)]
        match message:
            case Run():
                return self._run(message, held)
            case Release():
                return self._release(unit, held)
            case Save():
                idle = held.job is None and not held.releasing
                return self._begin(unit, held, Work.SAVE) if idle else []

    def done(self, job: Job) -> list[Answer]:
        """Take in that the engine has done a job; what was for another epoch is forgotten."""
        unit, held = job.unit, self._held.get(job.unit)
        if held is None or held.job != job:
            return []
        held = self._held[unit] = replace(held, job=None)
        match job.work:
            case Work.LOAD:
                answers: list[Answer] = [Adopted(unit, held.epoch, held.next_run)]
            case Work.RUN:
                held = self._held[unit] = replace(held, next_run=job.number + 1)
                answers = [Ran(unit, held.epoch, job.number)]
            case Work.SAVE if held.releasing:
                self._held[unit] = replace(held, released=True)
                return [Released(unit, held.epoch, held.next_run)]
            case Work.SAVE:
                answers = [Saved(unit, held.epoch, held.next_run)]
        return answers + (self._begin(unit, held, Work.SAVE) if held.releasing else [])

    def _adopt(self, message: Adopt, held: HeldUnit | None) -> list[Answer]:
        unit, epoch = message.unit, message.epoch
        if held is None and epoch > self._seen.get(unit, 0):
            self._seen[unit] = epoch
            return self._begin(unit, HeldUnit(epoch, message.next_run), Work.LOAD)
        if held is None or (held.job is not None and held.job.work is Work.LOAD):
            return []
        if held.released:
            return [Released(unit, epoch, held.next_run)]
        return [Adopted(unit, epoch, held.next_run)]

    def _run(self, message: Run, held: HeldUnit) -> list[Answer]:
        if message.number < held.next_run:
            return [Ran(message.unit, held.epoch, message.number)]
        if held.job is not None or held.releasing:
            return []  # it is said again
        if message.number > held.next_run:
            return [Adopted(message.unit, held.epoch, held.next_run)]
        return self._begin(message.unit, held, Work.RUN, message.inputs)

    def _release(self, unit: str, held: HeldUnit) -> list[Answer]:
        if held.released:
            return [Released(unit, held.epoch, held.next_run)]
        held = self._held[unit] = replace(held, releasing=True)
        return self._begin(unit, held, Work.SAVE) if held.job is None else []

    def _begin(
        self, unit: str, held: HeldUnit, work: Work, inputs: tuple[Train, ...] = ()
    ) -> list[Answer]:
        job = Job(work, unit, held.epoch, held.next_run, inputs)
        self._held[unit] = replace(held, job=job)
        return [job]

    def _forget(self, unit: str, epoch: int) -> None:
        held = self._held.get(unit)
        if held is not None and held.epoch <= epoch:
            del self._held[unit]
        self._seen[unit] = max(epoch, self._seen.get(unit, 0))
