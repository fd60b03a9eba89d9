"""What operators have in common that change neither the columns nor the times of their input."""

from penstock.model.schema import Schema
from penstock.plan.operators.keeps_times import KeepsTimes


class PassThrough(KeepsTimes):
    """One input, whose columns and event times are the output's."""

    __slots__ = ()

    @property
    def schema(self) -> Schema:
        """Return the input's columns."""
        return self.input.schema
