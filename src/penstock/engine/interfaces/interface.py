"""What a source of tuples must do (GSDM-14: open, next, commit, close)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.clock import Clock
from penstock.engine.allowed import Allowed
from penstock.model.definitions import StreamDefinition

# A boundary says which tuples form one train: JSON data that the journal keeps.
Boundary = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Offer:
    """A train's worth of tuples that wait at the source."""

    boundary: Boundary
    arrived: float


@dataclass(frozen=True, slots=True)
class Parts:
    """How far the time of a source's parts has come, where each goes at its own pace.

    `highs` are the greatest event times (microseconds) of those with rows in a train. All that are
    `live` then hold the stream's time back; the others do not.
    """

    highs: Mapping[str, int]
    live: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ingest:
    """What a boundary holds: rows in the stream's Arrow schema, or Parquet files read in place.

    `rejects` has the columns of `rejects.Reject`, one row a tuple that does not fit the schema.
    """

    rows: pa.Table | tuple[Path, ...]
    rejects: pa.Table | None = None
    parts: Parts | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an interface may use: Spark, the clock, a directory of its own, what is allowed now."""

    spark: SparkSession
    clock: Clock
    home: Path
    allowed: Callable[[], Allowed] = Allowed


class Interface(Protocol):
    """One source of one stream.

    Law: `read` of the same boundary gives the same rows in the same order, also in another
    process after a crash, until `commit` has passed that boundary.
    """

    @property
    def bounded(self) -> bool:
        """Say whether the source ends by itself."""
        ...

    @property
    def ended(self) -> bool:
        """Say whether nothing will ever be offered again."""
        ...

    def open(self, after: Boundary | None) -> None:
        """Get ready to offer what comes after that boundary, or everything."""
        ...

    def next(self) -> Offer | None:
        """Return the next train's boundary and step past it, or None; cheap, without Spark."""
        ...

    def read(self, boundary: Boundary) -> Ingest:
        """Return the rows of a boundary; may run Spark."""
        ...

    def commit(self, boundary: Boundary) -> None:
        """Forget what lies up to this boundary: it is not read again."""
        ...

    def close(self) -> None:
        """Close the source and release what it holds."""
        ...


class InterfaceClass(Protocol):
    """How an interface is made and checked; the registry holds these."""

    def check(self, definition: StreamDefinition) -> None:
        """Raise what is wrong with the definition's options, before anything is opened."""
        ...

    def __call__(self, definition: StreamDefinition, around: Surroundings) -> Interface:
        """Return a closed interface."""
        ...


@runtime_checkable
class SelfPaced(Protocol):
    """A source that may play by a clock of its own."""

    @property
    def is_paced(self) -> bool:
        """Say whether it does: time begins for it when it is first asked for tuples."""
        ...


@runtime_checkable
class Telling(Protocol):
    """A source that notices by itself when tuples come, and need not be asked all the time."""

    on_arrival: Callable[[], None] | None  # called by any thread


@runtime_checkable
class Arriving(Telling, Protocol):
    """A source to which tuples come by themselves; it keeps them in a log of its own."""

    @property
    def notice(self) -> str:
        """Return what was cut off when the log was opened, or nothing."""
        ...

    def to_disk(self) -> None:
        """Wait until all that has come is on disk: a checkpoint will say that it was read."""
        ...
