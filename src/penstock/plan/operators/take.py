"""Take: the first tuples of a stream, then its end (STOP AFTER)."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.schema import Schema
from penstock.plan.operators.operator import EventTime, Operator


@dataclass(frozen=True, slots=True)
class Take:
    """`tuples` from the input, or what comes until the query's time is up (None).

    Each query counts for itself, so the query's name makes the node its own.
    """

    input: Operator
    query: str
    tuples: int | None

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
        """Say how many, for whom."""
        return f"take {self.tuples or 'until time is up'} for {self.query.lower()}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Pass on: how many is counted by the runtime, train by train."""
        return f"SELECT * FROM {inputs[0]}"
