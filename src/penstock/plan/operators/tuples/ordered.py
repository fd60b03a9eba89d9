"""Ordered: every tuple takes its place, by event time and then by arrival, and gets its number.

A tuple takes its place once the watermark has reached it, so disorder within the slack changes
nothing. One behind the watermark is late and has no place. Without event time the order is arrival.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.model.own_names import own
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.operators.operator import EventTime, Operator

NUMBER = own("n")


@dataclass(frozen=True, slots=True)
class Ordered:
    """The input in order, with its tuples' numbers from 1 on in the column `_n`.

    `axis` says what orders the output to those above: event time as before, or the numbers.
    With `reads_history` numbers begin with the oldest tuple that is still known.
    """

    input: Operator
    axis: Literal["time", "number"]
    reads_history: bool = False

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def schema(self) -> Schema:
        """Return the input's columns and the number."""
        return Schema((*self.input.schema, Column(NUMBER, "bigint")))

    @property
    def time(self) -> EventTime | None:
        """Return the event time that orders, or None where arrival does."""
        return self.input.times[0] if self.input.times else None

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return what orders the output.

        Tuples wait for the first event time only, so nothing can be promised of another one.
        """
        return (EventTime(NUMBER),) if self.axis == "number" else self.input.times[:1]

    def text(self) -> str:
        """Say what orders."""
        by = self.time.column if self.time else "arrival"
        history = " with history" if self.reads_history else ""
        return f"in order of {by}, by {self.axis}{history}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Return the batch form, for analysis: the engine sorts without Spark."""
        by = quoted(self.time.column) if self.time else "1"
        number = f"CAST(row_number() OVER (ORDER BY {by}) AS BIGINT)"
        return f"SELECT *, {number} AS {NUMBER} FROM {inputs[0]}"
