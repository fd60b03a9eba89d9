"""What coordinator and processors say to each other about units, each in a unit's epoch.

A unit's epoch is counted up whenever it is placed anew. What is said in another epoch than the
unit's present one comes from a processor, or is heard by one, that no longer has the unit.
"""

from dataclasses import dataclass

Train = tuple[str, int]  # of a stream or a unit, and its number there


@dataclass(frozen=True, slots=True)
class Adopt:
    """To a processor: the unit is yours; load what was saved before its run `next_run`."""

    unit: str
    epoch: int
    next_run: int


@dataclass(frozen=True, slots=True)
class Run:
    """To a processor: do a recorded run over these trains."""

    unit: str
    epoch: int
    number: int
    inputs: tuple[Train, ...]


@dataclass(frozen=True, slots=True)
class Save:
    """To a processor: write down the unit's state, and its outputs since the last save."""

    unit: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Release:
    """To a processor: save the unit and begin no more runs of it."""

    unit: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Forget:
    """To a processor: the unit is no longer yours in this epoch, or never was."""

    unit: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Adopted:
    """From a processor: the unit is here, and this is the run that it can do next."""

    unit: str
    epoch: int
    next_run: int


@dataclass(frozen=True, slots=True)
class Ran:
    """From a processor: a run is done, and its output can be fetched here."""

    unit: str
    epoch: int
    number: int


@dataclass(frozen=True, slots=True)
class Saved:
    """From a processor: the unit is saved as it is before a run."""

    unit: str
    epoch: int
    next_run: int


@dataclass(frozen=True, slots=True)
class Released:
    """From a processor: the unit is saved as it is before a run, and does no more here."""

    unit: str
    epoch: int
    next_run: int


@dataclass(frozen=True, slots=True)
class Unknown:
    """From a processor: it does not have the unit that it was told to run, save or release."""

    unit: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Report:
    """From a processor: what a unit did since the last report, if it is not much the same."""

    unit: str
    epoch: int
    busy: float
    needed: float
    rows_out: float
    bytes_out: float
    kept_bytes: float
    state_bytes: float


ToProcessor = Adopt | Run | Save | Release | Forget
ToCoordinator = Adopted | Ran | Saved | Released | Unknown | Report
Message = ToProcessor | ToCoordinator
