"""Streams, tables, queries and events as their users define them."""

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Literal

from penstock.errors import BadOptionError
from penstock.model.goals import NO_GOALS, Goals
from penstock.model.key_order import KeyOrder
from penstock.model.schema import Column, Schema

ARRIVAL = "arrival"  # what TIMESTAMP BY ARRIVAL calls its column


@dataclass(frozen=True, slots=True)
class Expression:
    """SQL text given as an option's value where no literal stands."""

    sql: str


@dataclass(frozen=True, slots=True)
class Secret:
    """`secret('NAME')`: a value that is looked up where it is used, and stands nowhere else."""

    name: str


Option = str | int | float | bool | timedelta | Expression | Secret


@dataclass(frozen=True, slots=True)
class Connector:
    """`files(path => 'x')`: a named interface or sink with its options, names in lower case."""

    name: str
    options: tuple[tuple[str, Option], ...] = ()

    def option(self, name: str) -> Option | None:
        """Return the option's value, or None where it is not given."""
        return dict(self.options).get(name)


@dataclass(frozen=True, slots=True)
class AdaptiveSlack:
    """SLACK ADAPTIVE: the bound on disorder is measured, for a share of the tuples in time."""

    share: float = 0.99

    def __post_init__(self) -> None:
        """Refuse shares that are none, and all: no measure bounds what has not come yet."""
        if not 0 < self.share < 1:
            raise BadOptionError(
                f"SLACK ADAPTIVE {self.share:g} must be between 0 and 1",
                hint="0.99 keeps 99 of 100 tuples in time",
            )


@dataclass(frozen=True, slots=True)
class StopAfter:
    """STOP AFTER: ends a query by input tuples or by time; one of the two is given."""

    tuples: int | None = None
    interval: timedelta | None = None

    def __post_init__(self) -> None:
        """Refuse both, neither, and what has passed before it begins."""
        if (self.tuples is None) == (self.interval is None):
            raise BadOptionError(
                "STOP AFTER takes a number of tuples or a length of time",
                hint="STOP AFTER 1000 TUPLES, or STOP AFTER INTERVAL 2 HOURS",
            )
        if self.tuples is not None and self.tuples < 1:
            raise BadOptionError(f"STOP AFTER {self.tuples} TUPLES must be at least 1")
        if self.interval is not None and self.interval <= timedelta(0):
            raise BadOptionError(f"STOP AFTER {self.interval} must be above zero")


@dataclass(frozen=True, slots=True)
class StreamDefinition:
    """CREATE STREAM; `text` is the statement as it was written.

    With `of`, its columns are those of a stream type, and `schema` is filled in from it.
    Tuples stay readable for `archive_for`. A stream from which nothing came for `idle_after`
    holds back no other stream's time, or, `idle_by_clock`, its time goes on as the clock does.
    Queries over it that may lose tuples lose those first that are least by `shed_by`. Its tuples
    come in the order of columns, up to the disorder that `ordered_by` states. `by_arrival` says
    that its event time is the last column, which no source has: it is stamped as trains come in.
    """

    name: str
    schema: Schema
    source: Connector
    time_column: str | None = None
    slack: timedelta | AdaptiveSlack = timedelta(0)
    valid_for: timedelta | None = None
    text: str = ""
    archive_for: timedelta | None = None
    idle_after: timedelta | None = None
    idle_by_clock: bool = False
    shed_by: str | None = None
    of: str | None = None
    ordered_by: tuple[KeyOrder, ...] = ()
    by_arrival: bool = False

    def stamped(self) -> "StreamDefinition":
        """Return the stream with the column that its arrival is stamped into (MAV-16)."""
        columns = (*self.schema.columns, Column(ARRIVAL, "timestamp"))
        return replace(self, schema=Schema(columns), time_column=ARRIVAL, by_arrival=True)

    @property
    def as_read(self) -> "StreamDefinition":
        """Return the stream as its source has it, and as rows are pushed: without the stamp."""
        if not self.by_arrival:
            return self
        schema = Schema(self.schema.columns[:-1])
        return replace(self, schema=schema, time_column=None, by_arrival=False)


@dataclass(frozen=True, slots=True)
class TypeDefinition:
    """CREATE STREAM TYPE; the columns of the type that it is UNDER come before its own."""

    name: str
    schema: Schema
    under: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredParameter:
    """One parameter of a function: its name, and its type as Spark SQL writes it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """CREATE FUNCTION; `stream` stands for what it is called over, `takes` is that one's type.

    `body` is a SELECT over `stream`; `takes` and `returns` are names of stream types.
    """

    name: str
    stream: str
    takes: str
    parameters: tuple[DeclaredParameter, ...]
    returns: str
    body: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function of Python's that was registered: where it is found, and which version it is."""

    name: str
    reference: str
    version: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """CREATE TABLE; without columns the files' own schema holds."""

    name: str
    source: Connector
    schema: Schema | None = None
    text: str = ""


# What a join of sliding windows does with the pairs it found: MAV-36, MAV-37.
JoinMode = Literal["recompute", "reuse"]
# Where the sites of a flow run: in this process, as tasks of Spark, or where they are done sooner.
Sites = Literal["auto", "driver", "workers"]
# How a join without windows keeps its tuples: TIME-07, TIME-10 to TIME-12.
KeepStrategy = Literal["auto", "plain", "msf", "dbf", "hybrid"]


@dataclass(frozen=True, slots=True)
class Keeping:
    """How joins without windows keep tuples, and in how many bytes of memory if that is bounded."""

    strategy: KeepStrategy = "auto"
    memory: int | None = None

    def __post_init__(self) -> None:
        """Refuse a bound that cannot be held."""
        if self.memory is not None and self.memory < 1:
            raise BadOptionError("memory must be above zero", hint=SIZE_HINT)
        if self.memory is not None and not self.may_spill:
            raise BadOptionError(
                f"strategy '{self.strategy}' keeps in memory whatever a join needs, and cannot "
                "hold a bound",
                hint="leave memory out, or take 'auto', 'dbf' or 'hybrid', which use the disk",
            )

    @property
    def may_spill(self) -> bool:
        """Say whether tuples may go to disk."""
        return self.strategy not in ("plain", "msf")


SIZE_HINT = "memory => '64 MB'"
WHATEVER = Keeping()


@dataclass(frozen=True, slots=True)
class QueryDefinition:
    """CREATE QUERY; `select` is the SELECT's text with its window brackets.

    `emit_early` is how often open windows give provisional rows, `allowed_lateness` how long
    closed ones are kept to be corrected. One that is `forced` comes in although a promise would
    break by it, one that `waits` comes in when none does. `shed_by` is what its tuples are worth.
    `keeping` is how its joins without windows keep tuples.
    """

    name: str
    select: str
    goals: Goals = NO_GOALS
    sink: Connector | None = None
    stop_after: StopAfter | None = None
    text: str = ""
    emit_early: timedelta | None = None
    allowed_lateness: timedelta | None = None
    join: JoinMode = "recompute"
    forced: bool = False
    waits: bool = False
    shed_by: str | None = None
    sites: Sites = "auto"
    keeping: Keeping | None = None


@dataclass(frozen=True, slots=True)
class EventDefinition:
    """CREATE EVENT; `body` is what stands after AS."""

    name: str
    body: str
    text: str = ""


Definition = StreamDefinition | TableDefinition | QueryDefinition | EventDefinition


class QueryState(StrEnum):
    """Where a query stands in its life."""

    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    FINISHED = "FINISHED"
    SUSPENDED = "SUSPENDED"
    WAITING = "WAITING"
