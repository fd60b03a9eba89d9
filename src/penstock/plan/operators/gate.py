"""Gate: where tuples may be dropped for the queries that allow it."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.own_names import own
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.operators.operator import EventTime, Operator

KEPT = own("kept")  # with each tuple: how many of a million came through where it did
ALL = 1_000_000
ERROR, SHED, ROWS = "_error", "_shed", "_rows"
ADDED = (ERROR, SHED, ROWS)  # to the answers of a query over gates


@dataclass(frozen=True, slots=True)
class Gate:
    """All queries over a stream that allow the same error read it through one gate.

    It may also stand behind another query, whose tuples are for others, too: `thinned` if they have
    come through gates themselves and say so, in columns that go no further. How much it keeps is
    decided while it runs, and recorded with every run. With a `worth`, a number in Spark SQL over
    the input's columns, what is worth least goes first, else any.
    """

    input: Operator
    max_error: float
    worth: str = ""
    thinned: bool = False

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def schema(self) -> Schema:
        """Return the input's columns and what was kept."""
        return Schema((*self.passed.columns, Column(KEPT, "int")))

    @property
    def passed(self) -> Schema:
        """Return the columns that tuples have behind the gate."""
        columns = self.input.schema.columns
        left = (each for each in columns if not (self.thinned and each.name in ADDED))
        return Schema(tuple(left))

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
        if not self.thinned:
            return f"SELECT *, {ALL} AS {KEPT} FROM {inputs[0]}"
        columns = ", ".join(quoted(each.name) for each in self.passed.columns)
        kept = f"CAST(round({ALL} * (1 - {SHED})) AS INT)"
        return f"SELECT {columns}, {kept} AS {KEPT} FROM {inputs[0]}"
