"""What a FROM may name, and who tells the planner about types."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from penstock.model.definitions import FunctionDefinition
from penstock.model.events import Mode
from penstock.model.grids import Window as Clip
from penstock.model.own_names import own
from penstock.model.schema import Schema
from penstock.plan.operators import Operator
from penstock.sql import WrittenFlow

LEAF, VALUE = own("input"), own("x")  # an input, and a value over it, as the analyst sees them


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A stream, or a named query's output: an operator to read from."""

    operator: Operator


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table that tuples are joined with; `rows` is SQL for one that is written out."""

    table: str
    incarnation: int
    schema: Schema
    rows: str = ""


@dataclass(frozen=True, slots=True)
class EventSource:
    """An event; what its rows are depends on the consumption mode in which it is read."""

    read: Callable[[Mode], Operator]


@dataclass(frozen=True, slots=True)
class CellSource:
    """A base or a perspective; which of its cells come depends on who reads it."""

    read: Callable[[Clip], Operator]


Source = StreamSource | TableSource | EventSource | CellSource
Lookup = Callable[[str], Source | None]  # by the name in FROM


Inline = Callable[[FunctionDefinition, Sequence[Any], Operator], Operator]


class Flows(Protocol):
    """Knows the functions there are, and puts flows of them over streams."""

    def over(self, flow: WrittenFlow, operator: Operator, inline: Inline) -> Operator:
        """Return the operator that gives what a flow makes of a stream, or raise what is wrong.

        `inline` puts functions in SQL that stand inside the flow over the items that come there.
        """
        ...

    def called(self, name: str) -> FunctionDefinition | None:
        """Return the function of that name that is written in SQL, or None."""
        ...


NOTHING: Mapping[str, str] = MappingProxyType({})


class Analyst(Protocol):
    """Tells the columns of a SELECT, or what is wrong with it; Spark does, in the engine."""

    def schema(
        self, sql: str, leaves: Mapping[str, Schema], meant: Mapping[str, str] = NOTHING
    ) -> Schema:
        """Return the output's columns, or raise what is wrong (UnknownColumnError …).

        `meant` are names that only we know, with what an error is to call them.
        """
        ...


def with_name(lookup: Lookup, name: str, source: Source) -> Lookup:
    """Return a lookup that knows one name more."""
    return lambda wanted: source if wanted.lower() == name.lower() else lookup(wanted)
