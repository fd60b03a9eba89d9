"""Distinct: each row of a window once."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.schema import Schema
from penstock.plan.operators.operator import EventTime, Operator


@dataclass(frozen=True, slots=True)
class Distinct:
    """Needs trains that hold whole windows, and a column that tells windows apart."""

    input: Operator

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def schema(self) -> Schema:
        """Return the input's columns."""
        return self.input.schema

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the input's event times."""
        return self.input.times

    def text(self) -> str:
        """Say so."""
        return "distinct"

    def sql(self, inputs: Sequence[str]) -> str:
        """Keep one of equal rows."""
        return f"SELECT DISTINCT * FROM {inputs[0]}"
