"""Weigh: what the windows' rows over a sample tell of all tuples."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.schema import Schema
from penstock.plan.operators.operator import EventTime, Operator
from penstock.plan.operators.window_aggregate import END, START, WindowAggregate
from penstock.plan.weighing import Weighing


@dataclass(frozen=True, slots=True)
class Weigh:
    """Needs trains that hold whole windows: one has a row for each share that a gate kept."""

    input: WindowAggregate
    weighing: Weighing
    schema: Schema

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the windows' bounds."""
        return self.input.times

    def text(self) -> str:
        """Show what is estimated."""
        return f"weigh {self.weighing.text()}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Weigh the rows of each window and key."""
        return self.weighing.sql(inputs[0], (START, END))
