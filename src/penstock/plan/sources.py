"""What a FROM may name, and who tells the planner about types."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from penstock.model.schema import Schema
from penstock.plan.operators import Operator


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A stream, or a named query's output: an operator to read from."""

    operator: Operator


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table that tuples are joined with."""

    table: str
    incarnation: int
    schema: Schema


Source = StreamSource | TableSource
Lookup = Callable[[str], Source | None]  # by the name in FROM


class Analyst(Protocol):
    """Tells the columns of a SELECT, or what is wrong with it; Spark does, in the engine."""

    def schema(self, sql: str, leaves: Mapping[str, Schema]) -> Schema:
        """Return the output's columns, or raise what is wrong (UnknownColumnError …)."""
        ...
