"""What operators have in common that change neither the columns nor the times of their input."""

from penstock.model.schema import Schema
from penstock.plan.operators.operator import EventTime, Operator


class PassThrough:
    """One input, whose columns and event times are the output's."""

    __slots__ = ()

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
