"""LateralView: each tuple with the rows that a generator, such as explode, makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.model.own_names import LEFT, RIGHT
from penstock.model.schema import Schema, quoted
from penstock.plan.operators.keeps_times import KeepsTimes, beside
from penstock.plan.operators.operator import Operator


@dataclass(frozen=True, slots=True)
class LateralView(KeepsTimes):
    """`call` is over the input's columns; `outer` keeps tuples of which it makes nothing.

    `taken` are the generator's columns, as (its name for the column, name in the output).
    """

    input: Operator
    call: str
    taken: tuple[tuple[str, str], ...]
    outer: bool
    schema: Schema

    def text(self) -> str:
        """Show the generator and its columns."""
        outer = "outer " if self.outer else ""
        names = ", ".join(quoted(out) for _, out in self.taken)
        return f"lateral view {outer}{self.call} as {names}"

    def sql(self, inputs: Sequence[str]) -> str:
        """Generate."""
        outer = "OUTER " if self.outer else ""
        names = ", ".join(quoted(name) for name, _ in self.taken)
        return (
            f"SELECT {beside(self.taken)} FROM {inputs[0]} AS {LEFT} "
            f"LATERAL VIEW {outer}{self.call} {RIGHT} AS {names}"
        )
