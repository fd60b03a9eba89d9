"""Streams, tables and queries as their users define them."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from penstock.model.goals import NO_GOALS, Goals
from penstock.model.schema import Schema


@dataclass(frozen=True, slots=True)
class Expression:
    """SQL text given as an option's value where no literal stands."""

    sql: str


Option = str | int | float | bool | timedelta | Expression


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
    """SLACK ADAPTIVE: the bound on disorder is measured."""


@dataclass(frozen=True, slots=True)
class StopAfter:
    """STOP AFTER: ends a query by input tuples or by time; one of the two is given."""

    tuples: int | None = None
    interval: timedelta | None = None


@dataclass(frozen=True, slots=True)
class StreamDefinition:
    """CREATE STREAM; `text` is the statement as it was written."""

    name: str
    schema: Schema
    source: Connector
    time_column: str | None = None
    slack: timedelta | AdaptiveSlack = timedelta(0)
    valid_for: timedelta | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """CREATE TABLE; without columns the files' own schema holds."""

    name: str
    source: Connector
    schema: Schema | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class QueryDefinition:
    """CREATE QUERY; `select` is the SELECT's text with its window brackets."""

    name: str
    select: str
    goals: Goals = NO_GOALS
    sink: Connector | None = None
    stop_after: StopAfter | None = None
    text: str = ""


Definition = StreamDefinition | TableDefinition | QueryDefinition


class QueryState(StrEnum):
    """Where a query stands in its life."""

    RUNNING = "RUNNING"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    FINISHED = "FINISHED"
