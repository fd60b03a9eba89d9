"""What every operator is: frozen data that knows its inputs and its Spark SQL."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.model.schema import Schema


@dataclass(frozen=True, slots=True)
class EventTime:
    """A column that orders an operator's output; its watermark is the operator's plus `offset`."""

    column: str
    offset: int = 0


class Operator(Protocol):
    """A frozen description of one step; equal descriptions are one node of the shared graph."""

    @property
    def schema(self) -> Schema:
        """Return the columns of the output."""
        ...

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the columns that carry event time, the preferred one first."""
        ...

    @property
    def inputs(self) -> "tuple[Operator, ...]":
        """Return the operators that this one reads."""
        ...

    def text(self) -> str:
        """Return what it does, on one line, for EXPLAIN; `identity.py` has what it is."""
        ...

    def sql(self, inputs: Sequence[str]) -> str:
        """Return a Spark SELECT over relations (names, or SELECTs in brackets)."""
        ...

    def __hash__(self) -> int:
        """Stand in sets and as keys."""
        ...
