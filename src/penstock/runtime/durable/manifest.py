"""What a checkpoint keeps: one frozen record of everything that runs, with a format number.

Positions are numbers of trains, `runs` and `delivered` numbers in the journal. Rows are files in
the state directory, by their names; where tasks wrote them there are several of one train or part,
in their order, with `/` between. Only a checkpoint that has such rows has format 2.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import HomeFormatError
from penstock.model.stored_names import stored_as
from penstock.model.trains import TrainInfo
from penstock.runtime.durable.records import from_json, to_json
from penstock.runtime.durable.state_files import Sums

FORMAT, WITH_SEVERAL = 1, 2
BETWEEN = "/"  # names of files have none


def several(file: str) -> tuple[str, ...]:
    """Return the names of a record's files."""
    return tuple(file.split(BETWEEN)) if file else ()


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """How far a stream was read: its last train, the source's boundary after it, and figures."""

    number: int
    boundary: Mapping[str, Any] | None
    watermark: int
    high: int | None
    rows: int
    rejected: int
    ended: bool
    idle: bool
    slack: Mapping[str, Any] | None = None  # what was measured of its disorder
    parts: Mapping[str, int] | None = None  # the greatest event times of its parts


@dataclass(frozen=True, slots=True)
class TrainRecord:
    """A train that some reader has still to read; one without rows has no file."""

    info: TrainInfo
    file: str

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files of its rows, in their order."""
        return several(self.file)


@dataclass(frozen=True, slots=True)
class BufferRecord:
    """A buffer: where its writer and its readers stood, and what they have not read."""

    written: int
    watermark: int
    high: int | None
    idle: bool
    readers: Mapping[str, int]
    trains: tuple[TrainRecord, ...]


@dataclass(frozen=True, slots=True)
class PartRecord:
    """Rows of a state, or of a history."""

    file: str
    rows: int
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """Return the files of the rows, in their order."""
        return several(self.file)


@dataclass(frozen=True, slots=True)
class StateRecord:
    """What a stateful operator keeps."""

    facts: Mapping[str, Any]
    parts: tuple[PartRecord, ...]


@dataclass(frozen=True, slots=True)
class UnitRecord:
    """A unit between two runs; `live_unit.py` says what the fields mean."""

    runs: int
    taken: int
    time_is_up: bool
    ended: bool
    marks: Mapping[str, int]
    idle: tuple[str, ...]
    reached: tuple[int, ...]
    rows_in: int
    rows_out: int
    late_rows: Mapping[str, int]
    rows_before: Mapping[str, int]
    members: Mapping[str, int]
    history: Mapping[str, tuple[PartRecord, ...]]
    state: StateRecord | None

    @property
    def parts(self) -> Iterator[PartRecord]:
        """Return the rows that it has, of its history and its state."""
        yield from (each for parts in self.history.values() for each in parts)
        yield from self.state.parts if self.state is not None else ()


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """A query that ran: the key of its root, the text that defined it, its place and figures."""

    root: str
    text: str
    runs: int
    delivered: int
    rows: int
    deadline: float | None
    missed: int


@dataclass(frozen=True, slots=True)
class SuspendedRecord:
    """A query that was suspended: since when, what had come of its streams, what it missed."""

    away: tuple[float, Mapping[str, int]] | None = None
    missed: int = 0
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class FinishedRecord:
    """The figures of a query that had ended."""

    rows_in: int
    late_rows: int


@dataclass(frozen=True, slots=True)
class TriggerRecord:
    """A reader for rules: the key of what it reads, and behind which train each rule looks."""

    root: str
    runs: int
    rules: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Ends:
    """Up to which numbers a replay from this checkpoint needs neither trains nor runs."""

    trains: Mapping[str, int] = field(default_factory=dict)
    runs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """All of it; streams, buffers and units by key, queries by lower name."""

    source_readers: Mapping[str, SourceRecord] = field(
        default_factory=dict, metadata=stored_as("feeds")
    )
    buffers: Mapping[str, BufferRecord] = field(default_factory=dict)
    units: Mapping[str, UnitRecord] = field(default_factory=dict)
    queries: Mapping[str, QueryRecord] = field(default_factory=dict)
    suspended: Mapping[str, SuspendedRecord] = field(default_factory=dict)
    finished: Mapping[str, FinishedRecord] = field(default_factory=dict)
    trigger_batches: Mapping[str, TriggerRecord] = field(
        default_factory=dict, metadata=stored_as("occasions")
    )
    tables: Mapping[str, Any] = field(default_factory=dict)  # as table_versions.py keeps them
    unbundled: tuple[str, ...] = field(default=(), metadata=stored_as("apart"))
    ends: Ends = Ends()
    statistics: Mapping[str, Any] = field(default_factory=dict)  # as their deciders keep them
    control: Mapping[str, Any] = field(default_factory=dict)
    files: Sums = field(default_factory=dict)
    format: int = FORMAT

    @property
    def names(self) -> Iterator[str]:
        """Return the files that it needs."""
        for buffer in self.buffers.values():
            yield from (name for train in buffer.trains for name in train.files)
        for unit in self.units.values():
            yield from (name for part in unit.parts for name in part.files)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON data."""
        found: dict[str, Any] = to_json(self)
        return found | {"format": WITH_SEVERAL if self._has_several else FORMAT}

    @property
    def _has_several(self) -> bool:
        files = [train.file for buffer in self.buffers.values() for train in buffer.trains]
        files += [part.file for unit in self.units.values() for part in unit.parts]
        return any(BETWEEN in file for file in files)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Manifest":
        """Return what `to_json` was given; raise HomeFormatError where another version wrote it."""
        if data.get("format") not in (FORMAT, WITH_SEVERAL):
            raise HomeFormatError(
                f"a checkpoint has format {data.get('format')}, and this Penstock reads "
                f"{FORMAT} and {WITH_SEVERAL}",
                hint="run the Penstock that wrote it, or name another home",
            )
        return from_json(Manifest, {**data, "format": FORMAT})


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that the journal has under this number."""

    number: int
    manifest: Manifest
