"""Project: computes the output columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.schema import Schema, quoted
from penstock.plan.operators.operator import EventTime, Operator


@dataclass(frozen=True, slots=True)
class Project:
    """Named expressions over the input's columns."""

    input: Operator
    columns: tuple[tuple[str, str], ...]
    schema: Schema
    times: tuple[EventTime, ...] = ()

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    def text(self) -> str:
        """Show the expressions with their names."""
        shown = (
            sql if sql == quoted(name) else f"{sql} AS {quoted(name)}" for name, sql in self.columns
        )
        return "project " + ", ".join(shown)

    def sql(self, inputs: Sequence[str]) -> str:
        """Compute them."""
        columns = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in self.columns)
        return f"SELECT {columns} FROM {inputs[0]}"
