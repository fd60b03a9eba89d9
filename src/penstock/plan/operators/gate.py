"""Gate: where tuples of a stream may be dropped for the queries that allow it."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.schema import Column, Schema
from penstock.plan.operators.operator import EventTime, Operator

KEPT = "_kept"  # with each tuple: how many of a million came through where it did
ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class Gate:
    """All queries over a stream that allow the same error read it through one gate.

    How much it keeps is decided while it runs, and recorded with every run. With a `worth`, a
    number in Spark SQL over the input's columns, what is worth least goes first, else any.
    """

    input: Operator
    max_error: float
    worth: str = ""

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def schema(self) -> Schema:
        """Return the input's columns and what was kept."""
        return Schema((*self.input.schema.columns, Column(KEPT, "int")))

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the input's event times."""
        return self.input.times

    def text(self) -> str:
        """Say for which queries it is."""
        order = f", the least {self.worth} first" if self.worth else ""
        return f"gate for errors up to {self.max_error:g}{order}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Pass everything on: what is dropped is decided by the runtime, run by run."""
        return f"SELECT *, {ALL} AS {KEPT} FROM {inputs[0]}"
