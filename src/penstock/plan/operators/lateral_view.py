"""LateralView: each tuple with the rows that a generator, such as explode, makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.own_names import LEFT, RIGHT
from penstock.model.schema import Schema, quoted
from penstock.plan.operators.operator import EventTime, Operator


@dataclass(frozen=True, slots=True)
class LateralView:
    """`call` is over the input's columns; `outer` keeps tuples of which it makes nothing.

    `taken` are the generator's columns, as (its name for the column, name in the output).
    """

    input: Operator
    call: str
    taken: tuple[tuple[str, str], ...]
    outer: bool
    schema: Schema

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Return the one input."""
        return (self.input,)

    @property
    def times(self) -> tuple[EventTime, ...]:
        """Return the input's event times: what a tuple is made into happens when it does."""
        return self.input.times

    def text(self) -> str:
        """Show the generator and its columns."""
        outer = "outer " if self.outer else ""
        names = ", ".join(quoted(out) for _, out in self.taken)
        return f"lateral view {outer}{self.call} as {names}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Generate."""
        outer = "OUTER " if self.outer else ""
        taken = (f"{RIGHT}.{quoted(name)} AS {quoted(out)}" for name, out in self.taken)
        names = ", ".join(quoted(name) for name, _ in self.taken)
        return (
            f"SELECT {', '.join((f'{LEFT}.*', *taken))} FROM {inputs[0]} AS {LEFT} "
            f"LATERAL VIEW {outer}{self.call} {RIGHT} AS {names}"
        )
